/** Names of dtypes, layouts and memory formats as members of the module: `torch.float32 === 'float32'`. Guards. */

export declare const float16: 'float16';
export declare const bfloat16: 'bfloat16';
export declare const float32: 'float32';
export declare const float64: 'float64';
export declare const uint8: 'uint8';
export declare const int8: 'int8';
export declare const int16: 'int16';
export declare const int32: 'int32';
export declare const int64: 'int64';
export declare const bool: 'bool';
export declare const complex32: 'complex32';
export declare const complex64: 'complex64';
export declare const complex128: 'complex128';
export declare const qint8: 'qint8';
export declare const quint8: 'quint8';
export declare const qint32: 'qint32';
export declare const quint4x2: 'quint4x2';
export declare const quint2x4: 'quint2x4';

// PyTorch's aliases.
export declare const half: 'float16';
export declare const float: 'float32';
export declare const double: 'float64';
export declare const short: 'int16';
export declare const int: 'int32';
export declare const long: 'int64';
export declare const chalf: 'complex32';
export declare const cfloat: 'complex64';
export declare const cdouble: 'complex128';

// Only in libtorch 2, the last two not in every version; undefined if this libtorch lacks the dtype.
export declare const uint16: 'uint16' | undefined;
export declare const uint32: 'uint32' | undefined;
export declare const uint64: 'uint64' | undefined;
export declare const float8E5m2: 'float8_e5m2' | undefined;
export declare const float8E4m3fn: 'float8_e4m3fn' | undefined;
export declare const float8E5m2fnuz: 'float8_e5m2fnuz' | undefined;
export declare const float8E4m3fnuz: 'float8_e4m3fnuz' | undefined;
export declare const float8E8m0fnu: 'float8_e8m0fnu' | undefined;
export declare const float4E2m1fnX2: 'float4_e2m1fn_x2' | undefined;

export declare const strided: 'strided';
export declare const sparseCoo: 'sparse_coo';
export declare const sparseCsr: 'sparse_csr';
export declare const sparseCsc: 'sparse_csc';
export declare const sparseBsr: 'sparse_bsr';
export declare const sparseBsc: 'sparse_bsc';
export declare const _mkldnn: '_mkldnn';

export declare const contiguousFormat: 'contiguous';
export declare const preserveFormat: 'preserve';
export declare const channelsLast: 'channels_last';
export declare const channelsLast3d: 'channels_last_3d';
