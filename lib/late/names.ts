/** The names of what is loaded late, in their order. test/misuse/late.test.ts compares them with what is loaded. */

const names = (text: string): readonly string[] => text.trim().split(/\s+/);

/** By the space of the module that they are in. */
export const late = {
  amp: names('autocast GradScaler'),
  distributed: names(`
    optim allGather allGatherIntoTensor allReduce allToAll allToAllSingle barrier broadcast gather monitoredBarrier recv reduce
    reduceScatter scatter send ProcessGroup destroyProcessGroup getBackend getRank getWorldSize initProcessGroup isInitialized
    newGroup isAvailable allGatherObject broadcastObject gatherObject recvObject scatterObject sendObject FileStore PrefixStore
    Store TCPStore trace ReduceOp
  `),
  inductor: names('AotiPackage aotiLoadPackage'),
  jit: names('freeze optimizeForInference save load'),
  nn: names(`
    GRUCell LSTMCell RNNCell RNNCellBase EmbeddingBag init Bilinear Identity Linear Module LocalResponseNorm parallel SyncBatchNorm Buffer Parameter UninitializedBuffer UninitializedParameter
    ParameterDict ParameterList RNNBase GLU
    Upsample UpsamplingBilinear2d UpsamplingNearest2d utils ReLU ReLU6 SELU SiLU Mish Hardsigmoid Hardswish Sigmoid Tanh LogSigmoid
    Softsign Tanhshrink Threshold RReLU Hardtanh ELU CELU LeakyReLU GELU Hardshrink Softshrink Softplus Softmax LogSoftmax Softmin
    Softmax2d PReLU AdaptiveLogSoftmaxWithLoss PairwiseDistance CosineSimilarity Dropout Dropout1d Dropout2d Dropout3d AlphaDropout
    FeatureAlphaDropout LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d
    LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d L1Loss MSELoss
    SoftMarginLoss MultiLabelMarginLoss BCELoss MultiLabelSoftMarginLoss BCEWithLogitsLoss NLLLoss NLLLoss2d CrossEntropyLoss
    PoissonNLLLoss KLDivLoss SmoothL1Loss HuberLoss HingeEmbeddingLoss MultiMarginLoss GaussianNLLLoss CosineEmbeddingLoss
    MarginRankingLoss TripletMarginLoss TripletMarginWithDistanceLoss CTCLoss Flatten Unflatten Embedding BatchNorm1d BatchNorm2d
    BatchNorm3d LayerNorm RMSNorm GroupNorm Sequential ModuleList ModuleDict Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d
    ConvTranspose3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d
    ReplicationPad2d
    ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d CircularPad1d CircularPad2d CircularPad3d InstanceNorm1d InstanceNorm2d
    InstanceNorm3d FractionalMaxPool2d FractionalMaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d MaxPool1d MaxPool2d MaxPool3d
    AvgPool1d AvgPool2d AvgPool3d LPPool1d LPPool2d LPPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d
    AdaptiveMaxPool2d AdaptiveMaxPool3d RNN GRU LSTM MultiheadAttention TransformerEncoderLayer TransformerDecoderLayer
    TransformerEncoder TransformerDecoder Transformer PixelShuffle PixelUnshuffle ChannelShuffle Fold Unfold
  `),
  npy: names('load save serialize loadFromStream saveToStream'),
  npz: names('load loadFromStream save saveToStream'),
  optim: names(`
    swaUtils Adam AdamW LBFGS lrScheduler Adamax NAdam RAdam Adafactor Muon Optimizer ASGD Rprop SparseAdam Adadelta Adagrad RMSprop
    SGD
  `),
  safetensors: names('SafetensorsFile open load loadFromStream serialize save saveToStream'),
  utils: names('data checkpoint assertFinite parseJSON Progress'),
};

export type LateSpace = keyof typeof late;

/** Functions of the module itself, with their lengths. */
export const lateFunctions = { load: 1, loadFromStream: 1, save: 2, saveToBuffer: 1, saveToStream: 1 };
