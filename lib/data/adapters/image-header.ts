/** The size of an image as the first bytes of its file say it, without a pipeline of libvips, which takes longer. */

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Of the IHDR chunk, which is the first (PNG, section 11.2.2). */
function sizeOfPng(file: Buffer): ImageSize | undefined {
  if (file.length < 24 || file.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

/** Whether a marker begins a frame: SOF0 to SOF15 without DHT, JPG and DAC. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/** Of the header of the frame, before which there are segments of a known length (ITU-T T.81, section B.2.2). */
function sizeOfJpeg(file: Buffer): ImageSize | undefined {
  for (let at = 2; at + 9 <= file.length; ) {
    if (file[at] !== 0xff) return undefined;
    const marker = file[at + 1]!;
    if (isFrame(marker)) return { height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) };
    const isSegment = marker >= 0xc4 && marker <= 0xfe && !(marker >= 0xd0 && marker <= 0xd9);
    if (!isSegment) return undefined;
    at += 2 + file.readUInt16BE(at + 2);
  }
  return undefined;
}

/** The size of a JPEG or PNG file, or undefined for other files and where the header does not say it as usual. */
export function sizeInHeader(bytes: Uint8Array): ImageSize | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isPng = file.subarray(0, PNG.length).equals(PNG);
  const isJpeg = !isPng && file.length > 2 && file.readUInt16BE(0) === 0xffd8;
  const size = isPng ? sizeOfPng(file) : isJpeg ? sizeOfJpeg(file) : undefined;
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}
