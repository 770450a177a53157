import { crc32 } from 'node:zlib';

/** A file to be packed. */
export interface ZipEntry {
  readonly name: string;
  readonly content: Buffer;
  readonly modified: Date;
}

/**
 * Packs a few small files, uncompressed, into the plain form of the ZIP format (APPNOTE 6.3, "stored").
 * Enough for a licence and a note; a shop's big files lie ready made on a disk or in a bucket.
 */
export function zip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name, 'utf8');
    const facts = factsOf(entry, name.length);
    const file = Buffer.concat([signed(0x04034b50), facts, name, entry.content]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(signed(0x02014b50, [20, 0]), facts, tail, name);
    files.push(file);
    offset += file.length;
  }
  const index = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(index.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, index, signed(0x06054b50), end]);
}

/** What a file's own header and its line in the directory have in common. */
function factsOf({ content, modified }: ZipEntry, nameLength: number): Buffer {
  const facts = Buffer.alloc(26);
  facts.writeUInt16LE(20, 0); // readable since version 2.0
  facts.writeUInt16LE(0x0800, 2); // names are UTF-8
  facts.writeUInt16LE(0, 4); // stored
  facts.writeUInt16LE(dosTime(modified), 6);
  facts.writeUInt16LE(dosDate(modified), 8);
  facts.writeUInt32LE(crc32(content), 10);
  facts.writeUInt32LE(content.length, 14);
  facts.writeUInt32LE(content.length, 18);
  facts.writeUInt16LE(nameLength, 22);
  return facts;
}

function signed(signature: number, version: readonly number[] = []): Buffer {
  const start = Buffer.alloc(4);
  start.writeUInt32LE(signature);
  return Buffer.concat([start, Buffer.from(version)]);
}

const dosTime = (time: Date): number =>
  (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1);

const dosDate = (time: Date): number =>
  (Math.max(0, time.getUTCFullYear() - 1980) << 9) |
  ((time.getUTCMonth() + 1) << 5) |
  time.getUTCDate();
