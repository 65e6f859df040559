/** The process of an install script ends when nobody reads what it says. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { apiEntries } from "@aegis/plugins/host/entries.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it, onTestFinished } from "vitest";
import type { ScriptStart } from "../../src/plugin/script-protocol.ts";

const main = fileURLToPath(new URL("../../src/plugin/script-main.ts", import.meta.url));

it.each([
  ["its reader is gone", (child: ChildProcess) => child.stdout?.destroy()],
  ["its installer is gone", (child: ChildProcess) => child.stdin?.end()],
])("ends when %s", async (_, cut) => {
  const dir = await tempDir();
  const file = join(dir, "_install.ts");
  await writeFile(
    file,
    `export async function install(ctx) {
      setInterval(() => ctx.console.log("still here"), 5);
      await new Promise(() => {});
    }`,
  );
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", main], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const start: ScriptStart = {
    mark: "mark ",
    file,
    name: "install",
    loader: { root: dir, api: apiEntries(), cacheDir: join(dir, "modules") },
    context: {
      reason: "install",
      projectRoot: dir,
      aegisDir: dir,
      pluginDir: dir,
      installedDir: dir,
      pluginName: "p",
      previousVersion: null,
      purge: false,
      manifest: {},
      config: {},
    },
  };
  child.stdin?.write(`${JSON.stringify(start)}\n`);
  if (child.stdout === null) throw new Error("no pipe");
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  expect(line).toContain("still here");
  cut(child);
  const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
  expect([code, signal]).toEqual([1, null]);
});
