/** The CLIs without Aegis: one process each, spoken to in its own protocol by as little as that takes. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { LiveModel } from "../../test/live/support/harness.ts";

/** Milliseconds from handing a message over to the first word of the answer, and to the end of the turn. */
export type Timing = { firstMs: number; endMs: number };
export type Exchange = (text: string) => Promise<Timing>;

type Json = Record<string, unknown>;
type Line = { method?: string; type?: string; id?: number; result?: Json; event?: { type?: string; delta?: Json } };

export async function bareClaude(model: LiveModel, folder: string, scope: AsyncDisposableStack): Promise<Exchange> {
  const args = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
  const more = ["--include-partial-messages", "--strict-mcp-config", "--model", model.agent.model ?? ""];
  const cli = await start(model, [...args, ...more], folder, scope);
  return (text) => {
    cli.write({ type: "user", message: { role: "user", content: [{ type: "text", text }] } });
    return cli.turn(
      (line) => line.type === "stream_event" && line.event?.delta?.type === "text_delta",
      (line) => line.type === "result",
    );
  };
}

export async function bareCodex(model: LiveModel, folder: string, scope: AsyncDisposableStack): Promise<Exchange> {
  const quiet = ["features.plugins=false", "features.apps=false", "features.remote_plugin=false"];
  const more = ["analytics.enabled=false", "check_for_update_on_startup=false"];
  const settings = [...quiet, ...more].flatMap((setting) => ["-c", setting]);
  const cli = await start(model, ["app-server", ...settings], folder, scope);
  await cli.call("initialize", { clientInfo: { name: "bench", title: "Bench", version: "1.0.0" } });
  cli.write({ method: "initialized" });
  const place = { cwd: folder, sandbox: "workspace-write", approvalPolicy: "on-request" };
  const { thread } = (await cli.call("thread/start", place)) as { thread: { id: string } };
  return (text) => {
    const input = [{ type: "text", text, text_elements: [] }];
    cli.write({ id: 0, method: "turn/start", params: { threadId: thread.id, input } });
    return cli.turn(
      (line) => line.method === "item/agentMessage/delta",
      (line) => line.method === "turn/completed",
    );
  };
}

/** Ends with the scope. */
async function start(model: LiveModel, args: string[], folder: string, scope: AsyncDisposableStack) {
  const home = join(folder, "bare-home");
  await mkdir(home, { recursive: true });
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: home, ...quietEnv, ...model.agent.env };
  const child = spawn(String(model.agent.options.command), args, { cwd: folder, env });
  child.stderr.resume();
  scope.defer(() => ended(child));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Line> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${child.spawnfile} ended`);
    return JSON.parse(value) as Line;
  };
  const write = (message: Json) => void child.stdin.write(`${JSON.stringify(message)}\n`);
  let calls = 0;
  return {
    write,
    async call(method: string, params: Json): Promise<Json> {
      calls += 1;
      write({ id: calls, method, params });
      for (let line = await next(); ; line = await next()) if (line.id === calls && line.result) return line.result;
    },
    async turn(isFirst: (line: Line) => boolean, isEnd: (line: Line) => boolean): Promise<Timing> {
      const begin = performance.now();
      let firstMs = 0;
      for (let line = await next(); ; line = await next()) {
        if (firstMs === 0 && isFirst(line)) firstMs = performance.now() - begin;
        if (isEnd(line)) return { firstMs, endMs: performance.now() - begin };
      }
    },
  };
}

const quietEnv = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_TELEMETRY: "1",
  DISABLE_ERROR_REPORTING: "1",
};

async function ended(child: ChildProcessWithoutNullStreams): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
