/** Datasets over the libraries that Node programs have. */
export { type ArrowTable, type ReadArrowOptions, readArrow } from './arrow';
export { type Columns, TableDataset } from './columns';
export type { Cursor } from './cursor';
export {
  type DecodeImageOptions,
  decodeImage,
  type ImageChannels,
  ImageDataset,
  type ImageDatasetOptions,
  ImageFolder,
  type ImageFolderOptions,
  type ImageSample,
} from './images';
export { ParquetRows, type ParquetRowsOptions, type ReadParquetOptions, readParquet } from './parquet';
export { JsonLines, StreamDataset } from './records';
export { ShardDataset, type ShardDatasetOptions } from './shards';
export {
  loadTokenizer,
  type TokenBatch,
  TokenBlocks,
  type TokenCollateOptions,
  type Tokenizer,
  tokenCollate,
} from './tokens';
