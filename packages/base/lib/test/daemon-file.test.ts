import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import {
  type DaemonFile,
  daemonFilePath,
  findProjectRoot,
  inspectDaemonFile,
  processStartTime,
  readDaemonFile,
  removeDaemonFile,
  writeDaemonFile,
} from "../src/daemon-file.ts";
import { openUserKey } from "../src/user-key.ts";

function ownFile(change: Partial<DaemonFile> = {}): DaemonFile {
  const start_time = processStartTime(process.pid) ?? "";
  return { pid: process.pid, start_time, url: "http://127.0.0.1:1", token: "t", version: "1.0.0", id: "a", ...change };
}

describe("the project of a folder", () => {
  it("is the closest ancestor with a config file, then one that was used, then the folder itself", async () => {
    const root = await tempDir();
    const deep = join(root, "used/inner/deep");
    await mkdir(deep, { recursive: true });
    expect(findProjectRoot(deep)).toBe(deep);
    await mkdir(join(root, "used/inner/.aegis/state"), { recursive: true });
    expect(findProjectRoot(deep)).toBe(deep);
    await writeFile(join(root, "used/inner/.aegis/state/aegis.db"), "");
    expect(findProjectRoot(deep)).toBe(join(root, "used/inner"));
    await writeFile(join(root, "used/.aegis.yaml"), "");
    expect(findProjectRoot(deep)).toBe(join(root, "used"));
  });
});

async function project() {
  const [root, home] = [await tempDir(), await tempDir()];
  await mkdir(join(root, ".aegis/state"), { recursive: true });
  const key = await openUserKey(home);
  return { root, home, write: (file: DaemonFile) => writeDaemonFile(root, file, key) };
}

describe("the daemon's file", () => {
  it("is private, read back as written, and removed by its owner only", async () => {
    const { root, home, write } = await project();
    expect(await readDaemonFile(root)).toBeNull();
    expect(await inspectDaemonFile(root, home)).toEqual({ state: "none" });
    const file = ownFile();
    await write(file);
    expect((await stat(daemonFilePath(root))).mode & 0o777).toBe(0o600);
    expect(await readDaemonFile(root)).toEqual(file);
    expect(await removeDaemonFile(root, "someone else")).toBe(false);
    expect(await readDaemonFile(root)).toEqual(file);
    expect(await removeDaemonFile(root, "a")).toBe(true);
    expect(await removeDaemonFile(root, "a")).toBe(true);
    expect(await readDaemonFile(root)).toBeNull();
  });

  it("is live only while the very process that wrote it runs", async () => {
    const { root, home, write } = await project();
    await write(ownFile());
    expect((await inspectDaemonFile(root, home)).state).toBe("live");
    await write(ownFile({ start_time: "earlier" }));
    expect((await inspectDaemonFile(root, home)).state).toBe("stale");
    await write(ownFile({ pid: 2 ** 22 + 1 }));
    expect((await inspectDaemonFile(root, home)).state).toBe("stale");
  });

  it("is foreign without the signature of the user, for this folder and for every field", async () => {
    const { root, home, write } = await project();
    await write(ownFile());
    const signed = JSON.parse(await readFile(daemonFilePath(root), "utf8"));
    const found = async () => (await inspectDaemonFile(root, home)).state;
    for (const change of [
      { proof: undefined },
      { proof: 7 },
      { url: "http://192.0.2.1:80" },
      { token: "u" },
      { id: "b" },
    ]) {
      await writeFile(daemonFilePath(root), JSON.stringify({ ...signed, ...change }));
      expect(await found(), JSON.stringify(change)).toBe("foreign");
    }
    const other = await project();
    await writeFile(daemonFilePath(other.root), JSON.stringify(signed));
    expect((await inspectDaemonFile(other.root, home)).state).toBe("foreign");
    expect((await inspectDaemonFile(other.root, other.home)).state).toBe("foreign");
    await writeFile(daemonFilePath(root), JSON.stringify(signed));
    expect(await found()).toBe("live");
    expect((await inspectDaemonFile(root, other.home)).state).toBe("foreign");
  });

  it.each(["", "{", "[]", "{}", '{"pid":"1"}', '{"pid":-1,"start_time":"","url":"","token":"","version":"","id":""}'])(
    "is broken when it holds %j",
    async (text) => {
      const root = await tempDir();
      await mkdir(join(root, ".aegis/state"), { recursive: true });
      await writeFile(daemonFilePath(root), text);
      await expect(readDaemonFile(root)).rejects.toThrow(daemonFilePath(root));
      expect((await inspectDaemonFile(root, root)).state).toBe("broken");
    },
  );
});
