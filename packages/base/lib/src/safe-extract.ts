/** Extracts third-party ZIP archives into an empty folder. No other module reads ZIP files. */
import { createWriteStream } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { crc32 } from "node:zlib";
import type { Entry, ZipFile } from "yauzl";
import { errorText } from "./log.ts";
import { createTreeGuard, defaultTreeLimits, type TreeGuard, type TreeLimits, TreeRefused } from "./tree-rules.ts";

export type ExtractOptions = {
  limits?: Partial<TreeLimits>;
  /** The maximum ratio of the content's size to the archive's size. */
  ratio?: number;
  signal?: AbortSignal;
};

type Planned = { entry: Entry; name: string; parts: string[]; executable: boolean };

/** Below this size no ratio is suspicious, because text compresses well. */
const ratioFloor = 1 << 20;
const defaultRatio = 200;

/**
 * Extracts an archive (bytes or path) into `target`, which must exist and be empty. Checks the whole index before
 * writing the first byte. Throws `TreeRefused`; the caller removes any files already written.
 */
export async function extractZip(
  archive: Uint8Array | string,
  target: string,
  options: ExtractOptions = {},
): Promise<{ files: number; bytes: number }> {
  const limits: TreeLimits = { ...defaultTreeLimits, ...options.limits };
  const guard = createTreeGuard(limits);
  const zip = await openArchive(archive);
  try {
    const size = typeof archive === "string" ? (await stat(archive)).size : archive.byteLength;
    const planned = await planEntries(zip, guard, size * (options.ratio ?? defaultRatio));
    for (const one of planned) {
      options.signal?.throwIfAborted();
      await writeEntry(zip, one, target, options.signal);
    }
  } finally {
    zip.close();
  }
  return { files: guard.files, bytes: guard.bytes };
}

async function openArchive(archive: Uint8Array | string): Promise<ZipFile> {
  // Names stay undecoded: decoding would turn backslashes into folders and control characters into symbols.
  const options = { autoClose: false, decodeStrings: false, validateEntrySizes: true };
  // Loaded on use: the daemon imports this module, but hardly ever reads an archive.
  const { fromBufferPromise, openPromise } = await import("yauzl");
  try {
    if (typeof archive === "string") return await openPromise(archive, options);
    const buffer = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
    return await fromBufferPromise(buffer, options);
  } catch (error) {
    throw new TreeRefused("not_a_tree", null, `not a ZIP archive: ${errorText(error)}`, error);
  }
}

async function planEntries(zip: ZipFile, guard: TreeGuard, mostBytes: number): Promise<Planned[]> {
  const planned: Planned[] = [];
  try {
    for await (const entry of zip.eachEntry()) {
      const one = judgeEntry(entry, guard);
      if (one !== null) planned.push(one);
      if (guard.bytes > Math.max(mostBytes, ratioFloor))
        throw new TreeRefused("ratio", one?.name ?? null, "unpacks to far more than the archive holds");
    }
  } catch (error) {
    throw error instanceof TreeRefused ? error : broken(error);
  }
  return planned;
}

/** Returns null for a folder; folders are created for the files in them. */
function judgeEntry(entry: Entry, guard: TreeGuard): Planned | null {
  const name = nameOf(entry);
  const mode = entry.versionMadeBy >>> 8 === unixHost ? entry.externalFileAttributes >>> 16 : 0;
  const kind = mode & fileKinds.mask;
  if (kind === fileKinds.link) throw new TreeRefused("link", name, "is a symbolic link");
  if (kind !== 0 && kind !== fileKinds.file && kind !== fileKinds.folder)
    throw new TreeRefused("special_file", name, "is neither a file nor a folder");
  if (entry.isEncrypted()) throw new TreeRefused("encrypted", name, "is encrypted");
  if (name.endsWith("/") || kind === fileKinds.folder) {
    if (entry.uncompressedSize > 0) throw new TreeRefused("special_file", name, "is a folder with content");
    guard.folder(name);
    return null;
  }
  if (!entry.canDecodeFileData())
    throw new TreeRefused(
      "unsupported",
      name,
      `is packed by method ${entry.compressionMethod}, which is not supported`,
    );
  return { entry, name, parts: guard.file(name, entry.uncompressedSize), executable: (mode & 0o111) !== 0 };
}

function nameOf(entry: Entry): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(entry.fileNameRaw);
  } catch (error) {
    throw new TreeRefused("bad_name", entry.fileNameRaw.toString("latin1"), "is a name that is not UTF-8", error);
  }
}

async function writeEntry(zip: ZipFile, planned: Planned, target: string, signal?: AbortSignal): Promise<void> {
  const path = join(target, ...planned.parts);
  await mkdir(dirname(path), { recursive: true });
  const stream = await zip.openReadStreamPromise(planned.entry).catch((error: unknown) => {
    throw broken(error, planned.name);
  });
  // `wx` fails if the path exists, so nothing is written through a link.
  const file = createWriteStream(path, { flags: "wx", mode: planned.executable ? 0o755 : 0o644, flush: true });
  try {
    await pipeline(stream, checksummed(planned.entry.crc32), file, signal === undefined ? {} : { signal });
  } catch (error) {
    const ofTheDisk = error instanceof Error && "syscall" in error;
    throw signal?.aborted || ofTheDisk ? error : broken(error, planned.name);
  }
}

function checksummed(expected: number): (source: AsyncIterable<Buffer>) => AsyncIterable<Buffer> {
  return async function* (source) {
    let sum = 0;
    for await (const chunk of source) {
      sum = crc32(chunk, sum);
      yield chunk;
    }
    if (sum !== expected) throw new Error("its checksum does not match");
  };
}

function broken(error: unknown, path: string | null = null): TreeRefused {
  return new TreeRefused("not_a_tree", path, `the archive is damaged: ${errorText(error)}`, error);
}

const unixHost = 3;
const fileKinds = { mask: 0xf000, file: 0x8000, folder: 0x4000, link: 0xa000 } as const;
