/**
 * Proves with the real arguments that bubblewrap confines a program: it runs, it cannot write a file of the host, and it
 * cannot connect to the host. A program that only pretends to confine is noticed.
 */
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { makePrivateDir } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { ownConsent } from "@aegis/lib/own-consent.ts";
import type { Command } from "@aegis/lib/process.ts";
import { createNetwork } from "../network/network.ts";
import type { SandboxPolicy } from "../policy.ts";
import type { Sandbox, SandboxReport } from "../sandbox.ts";
import type { BubblewrapOptions } from "./bubblewrap.ts";
import { isOpen, unavailable } from "./failures.ts";

const deadlineMs = 20_000;

/** Prints what it could do that a confined program cannot. */
const attempt = `
const fs = require("node:fs");
const [file, port] = process.argv.slice(1);
const say = (text) => process.stdout.write(text);
try { fs.appendFileSync(file, "x"); say("wrote "); } catch {}
const socket = require("node:net").connect({ host: "127.0.0.1", port: Number(port) });
socket.on("connect", () => { say("connected"); socket.destroy(); }).on("error", () => say("done"));
`;

export async function probe(
  bwrap: string,
  { processes, scratch, env }: BubblewrapOptions,
  confine: Sandbox["confine"],
): Promise<SandboxReport> {
  const tmp = join(scratch, "tmp");
  await makePrivateDir(scratch);
  await makePrivateDir(tmp);
  const outside = join(scratch, "outside");
  await writeFile(outside, "");
  const host = createServer((socket) => socket.destroy());
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  const address = host.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    const policy: SandboxPolicy = { ...nothing, tmp };
    // A rule for a host that does not exist, so that the launcher takes part.
    const network = createNetwork({
      hosts: [{ host: "probe.invalid", below: false, port: null }],
      ports: [],
      doors: new Map(),
      refusal: () => "",
    });
    const command: Command = {
      argv: [process.execPath, "-e", attempt, outside, String(port)],
      env: { PATH: env.PATH ?? "" },
      cwd: "/",
    };
    const child = await processes.start(await confine(command, policy, network), ownConsent("sandbox"));
    const late = setTimeout(() => void child.stop(), deadlineMs);
    child.stdin.end();
    let output = "";
    for await (const chunk of child.stdout) output += Buffer.from(chunk).toString("utf8");
    const { code } = await child.exited;
    clearTimeout(late);
    await child.stop();
    if (/wrote|connected/.test(output)) return isOpen;
    if (code !== 0 || output.trim() !== "done") return unavailable(child.stderrTail());
    return { works: true, name: `bubblewrap (${bwrap})` };
  } catch (error) {
    return unavailable(errorText(error));
  } finally {
    host.close();
    await rm(scratch, { recursive: true, force: true });
  }
}

const nothing = {
  level: "workspace",
  write: [],
  protect: [],
  hide: [],
  show: [],
  instead: [],
  hosts: [],
  ports: [],
} as const;
