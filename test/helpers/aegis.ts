/** Runs the built command in a project of its own: nothing of this machine's user is seen, and its daemon always ends. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type DaemonFile, isSameProcess, readDaemonFile } from "@aegis/lib/daemon-file.ts";
import { onTestFinished } from "vitest";
import { storeEnv } from "./cluster.ts";
import { type ProjectFiles, projectFolder } from "./project-folder.ts";
import { waitUntil } from "./wait-until.ts";

export const cliPath = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

export type Result = { code: number | null; stdout: string; stderr: string };

export type Running = {
  child: ChildProcessWithoutNullStreams;
  /** What it has written so far. */
  readonly output: { stdout: string; stderr: string };
  /** Resolves when stdout holds the text. */
  shows(text: string): Promise<void>;
  ended: Promise<Result>;
};

export type AegisProject = {
  root: string;
  env: Record<string, string>;
  /** Runs a command to its end. */
  aegis(...args: string[]): Promise<Result>;
  /** The same with `--json`, and its answer. */
  json<T = Record<string, unknown>>(...args: string[]): Promise<T>;
  pipe(input: string, ...args: string[]): Promise<Result>;
  start(...args: string[]): Running;
  /** The daemon's pid, or null when none runs. */
  daemonPid(): Promise<number | null>;
};

/** A config with two agents that need no model. */
export const offlineConfig = [
  "default_agent: dev",
  "agents:",
  "  dev: { harness: scripted, permission: write, description: Does the work }",
  "  helper: { harness: scripted, permission: read }",
  "",
].join("\n");

export async function aegisProject(
  files: ProjectFiles = { ".aegis.yaml": offlineConfig },
  options: { trusted?: boolean } = {},
): Promise<AegisProject> {
  const { root, home, remove } = await projectFolder(files, options);
  const env = { HOME: home, PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, LANG: "C.UTF-8", ...storeEnv() };
  const children = new Set<ChildProcessWithoutNullStreams>();

  const start = (...args: string[]): Running => {
    const child = spawn(process.execPath, [cliPath, ...args], { cwd: root, env });
    children.add(child);
    const output = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output.stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output.stderr += text;
    });
    child.stdin.on("error", () => {});
    const ended = new Promise<Result>((resolve) => {
      child.once("close", (code) => {
        children.delete(child);
        resolve({ code, ...output });
      });
    });
    const shows = async (text: string) => {
      let over = false;
      void ended.then(() => {
        over = true;
      });
      try {
        await waitUntil("", () => over || output.stdout.includes(text));
      } catch {}
      if (!output.stdout.includes(text)) {
        throw new Error(`aegis ${args.join(" ")} never printed ${JSON.stringify(text)}, but ${JSON.stringify(output)}`);
      }
    };
    return { child, output, shows, ended };
  };
  const pipe = (input: string, ...args: string[]) => {
    const running = start(...args);
    running.child.stdin.end(input);
    return running.ended;
  };
  const daemonPid = async () => {
    const found = await runningDaemon(root);
    return found?.pid ?? null;
  };

  onTestFinished(async () => {
    for (const child of children) child.kill("SIGKILL");
    await stopDaemon(root);
    await remove();
  });

  return {
    root,
    env,
    start,
    pipe,
    daemonPid,
    aegis: (...args) => pipe("", ...args),
    async json<T>(...args: string[]) {
      const { stdout, stderr, code } = await pipe("", ...args, "--json");
      try {
        return JSON.parse(stdout) as T;
      } catch {
        throw new Error(`aegis ${args.join(" ")} gave no JSON (exit code ${code}): ${stdout}${stderr}`);
      }
    },
  };
}

/** Ends the daemon of a folder, if one runs, and waits until it is gone. */
export async function stopDaemon(root: string): Promise<void> {
  const found = await runningDaemon(root);
  if (found === null) return;
  process.kill(found.pid, "SIGKILL");
  await waitUntil(`daemon ${found.pid} ends`, () => !isSameProcess(found));
}

/** By the file alone, without its signature: a test must find each daemon that it started. */
async function runningDaemon(root: string): Promise<DaemonFile | null> {
  const file = await readDaemonFile(root).catch(() => null);
  return file !== null && isSameProcess(file) ? file : null;
}
