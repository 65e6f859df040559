/** Starting and ending confined programs, and what happens where they cannot be confined. */
import { readdirSync, readFileSync } from "node:fs";
import { chmod, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { type Child, type Command, createProcesses } from "@aegis/lib/process.ts";
import { agreed } from "@aegis/test/helpers/consent.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, onTestFinished, test } from "vitest";
import { createBubblewrap } from "../src/bubblewrap/bubblewrap.ts";
import { unavailable } from "../src/bubblewrap/failures.ts";
import { seccompFilter } from "../src/bubblewrap/seccomp.ts";
import { confined } from "../src/confined.ts";
import { createNetwork } from "../src/network/network.ts";
import type { SandboxPolicy } from "../src/policy.ts";
import { diskFolder, reasonToSkip } from "./here.ts";

const skip = reasonToSkip();

const nothing = { protect: [], hide: [], show: [], instead: [], hosts: [], ports: [] };

/** A project on a disk and a way to start programs in it; `more` gets the project's path. */
async function place(more: (project: string) => Partial<SandboxPolicy> = () => ({})) {
  const base = await diskFolder();
  const [project, tmp] = [join(base, "project"), join(base, "tmp")];
  await Promise.all([mkdir(project), mkdir(tmp)]);
  const processes = createProcesses({ ledgerFile: null, owner: base, clock: systemClock, log: silentLogger });
  onTestFinished(() => processes.close());
  const sandboxWith = (PATH: string) => createBubblewrap({ processes, env: { PATH }, scratch: join(base, "probe") });
  const start = async (argv: Command["argv"], path = process.env.PATH ?? "") => {
    const policy: SandboxPolicy = { ...nothing, level: "workspace", write: [project], tmp, ...more(project) };
    const refusal = (host: string) => `${host} is not allowed`;
    const network = createNetwork({ hosts: policy.hosts, ports: policy.ports, doors: new Map(), refusal });
    const inside = confined(processes, sandboxWith(path), async () => ({ policy, network, env: { MADE: "yes" } }));
    return inside.start({ argv, env: { PATH: process.env.PATH ?? "" }, cwd: project }, agreed());
  };
  return { base, project, sandboxWith, start };
}

async function outputOf(child: Child): Promise<string> {
  let text = "";
  child.stdin.end();
  for await (const chunk of child.stdout) text += Buffer.from(chunk).toString("utf8");
  await child.exited;
  await child.stop();
  return text + child.stderrTail();
}

/** Processes that sleep for a time that no other test takes. */
const seconds = String(100_000 + process.pid);
const sleeping = () =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandLine(name) === `sleep ${seconds} `);

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

const web = () => ({ hosts: [{ host: "a.example", below: false, port: null }] });

test.skipIf(skip !== null)(
  "a program ends with its own code, input and output, with a network and without",
  async () => {
    for (const more of [() => ({}), web]) {
      const { start } = await place(more);
      const child = await start(["sh", "-c", "read x; echo got $x $MADE $AEGIS_SANDBOX; exit 7"]);
      child.stdin.end("text\n");
      let text = "";
      for await (const chunk of child.stdout) text += Buffer.from(chunk).toString("utf8");
      expect(await child.exited).toEqual({ code: 7, signal: null });
      expect(text).toBe("got text yes workspace\n");
      await child.stop();
    }
  },
);

test.skipIf(skip !== null)("SIGTERM reaches the program, which may clean up, and nothing is left", async () => {
  const { start, project } = await place(web);
  const program = `
    process.on("SIGTERM", () => setTimeout(() => { require("fs").writeFileSync("cleaned", ""); process.exit(0); }, 200));
    require("child_process").spawn("env", ["-i", "setsid", "sh", "-c", "(sleep ${seconds} &); sleep ${seconds}"], { detached: true, stdio: "ignore" }).unref();
    setInterval(() => {}, 1000);
    require("fs").writeFileSync("ready", "");`;
  const child = await start([process.execPath, "-e", program]);
  await waitUntil("it is ready", async () => (await readdir(project)).includes("ready") && sleeping().length > 1);
  await child.stop();
  expect((await readdir(project)).sort()).toEqual(["cleaned", "ready"]);
  expect(sleeping()).toEqual([]);
});

test.skipIf(skip !== null)("everything inside dies with bwrap", async () => {
  const { start } = await place();
  const child = await start(["sh", "-c", `env -i setsid sleep ${seconds} & env -i setsid sleep ${seconds} & wait`]);
  await waitUntil("two sleep", () => sleeping().length === 2);
  process.kill(child.pid, "SIGKILL");
  await waitUntil("none is left", () => sleeping().length === 0);
  await child.exited;
});

test.skipIf(skip !== null)("the deepest path decides, and what is missing stays missing", async () => {
  const elsewhere = await diskFolder();
  const { project, start } = await place((root) => ({
    write: [root, join(root, "a/hidden/shown/open")],
    hide: [join(root, "a/hidden"), join(root, "missing")],
    show: [join(root, "a/hidden/shown")],
    protect: [join(root, "a/keep"), join(root, "a/missing")],
    instead: [{ folder: elsewhere, at: join(root, "b") }],
  }));
  for (const folder of ["a/hidden/shown/open", "a/keep", "b"]) await mkdir(join(project, folder), { recursive: true });
  for (const file of ["a/hidden/x", "a/hidden/shown/x"]) await writeFile(join(project, file), `${file}\n`);
  const script = `cat a/hidden/x a/hidden/shown/x
    for f in a/hidden a/hidden/shown a/hidden/shown/open a/keep a b; do echo > $f/new && echo " $f"; done 2>/dev/null
    node -e 'for (const f of ["a", "a/hidden", "a/keep"]) try { require("fs").renameSync(f, "new"); console.log(" moved"); } catch {}'
    rm -r a/keep`;
  const text = await outputOf(await start(["sh", "-c", script]));
  expect(text).toContain("a/hidden/shown/x\n");
  expect(text).not.toContain("a/hidden/x\n");
  expect(text.match(/^ \S+$/gm)).toEqual([" a/hidden/shown/open", " a", " b"]);
  expect(await readdir(elsewhere)).toEqual(["new"]);
  expect((await readdir(project)).sort()).toEqual(["a", "b"]);
  expect((await readdir(join(project, "a"))).sort()).toEqual(["hidden", "keep", "new"]);
  expect(await readdir(join(project, "b"))).toEqual([]);
});

test("a program that must be confined does not start without bubblewrap", async () => {
  const { project, start, sandboxWith } = await place();
  const why = { works: false, fix: expect.stringContaining("apt install bubblewrap") };
  expect(await sandboxWith(project).report()).toMatchObject(why);
  await expect(start(["sh", "-c", "touch ran"], project)).rejects.toThrow(/not started without its sandbox/);
  expect(await readdir(project)).toEqual([]);
});

test.skipIf(process.platform !== "linux")("a bwrap that confines nothing is noticed", async () => {
  const { base, project, start, sandboxWith } = await place();
  const fakes = join(base, "fakes");
  await mkdir(fakes);
  await writeFile(join(fakes, "bwrap"), '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n');
  await chmod(join(fakes, "bwrap"), 0o755);
  const path = `${fakes}:${process.env.PATH}`;
  const why = { works: false, cause: expect.stringContaining("was not confined") };
  expect(await sandboxWith(path).report()).toMatchObject(why);
  await expect(start(["sh", "-c", "touch ran"], path)).rejects.toThrow(/was not confined/);
  expect(await readdir(project)).toEqual([]);
});

test.each([
  ["bwrap: Unknown option --disable-userns", "update bubblewrap"],
  ["bwrap: Creating new namespace failed: nesting depth or limit (ENOSPC)", "max_user_namespaces"],
  ["bwrap: No permissions to create new namespace, likely because the kernel does not allow it", "ordinary user"],
  ["bwrap: setting up uid map: Operation not permitted", "AppArmor"],
  ["bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "container"],
])("%s has a fix", (text, fix) => {
  expect(unavailable(text).fix).toContain(fix);
});

test.skipIf(skip !== null)(
  "a flood of connections to the proxy closes some of them and ends with the program",
  { tags: "slow" },
  async () => {
    const { start } = await place(web);
    const program = `
      const net = require("node:net");
      let closed = 0;
      const opened = () => net.connect(3128, "127.0.0.1").on("error", () => {}).on("close", () => { closed++; });
      const big = opened();
      big.write("GET http://a.example/ HTTP/1.1\\r\\nx: " + "y".repeat(1 << 20));
      big.on("close", () => { for (let i = 0; i < 1000; i++) opened(); });
      setInterval(() => { if (closed > 400) { console.log("limited"); process.exit(0); } }, 20);`;
    expect(await outputOf(await start([process.execPath, "-e", program]))).toBe("limited\n");
  },
);

test("a filter exists for x64 and arm64, and for no machine that Aegis does not know", () => {
  for (const machine of ["x64", "arm64"]) {
    const [open, closed] = [true, false].map((unixSockets) => seccompFilter({ unixSockets }, machine)?.length ?? 0);
    expect(open).toBeGreaterThan(0);
    expect(closed).toBe((open ?? 0) + 5 * 8);
  }
  expect(seccompFilter({ unixSockets: true }, "riscv64")).toBeNull();
});
