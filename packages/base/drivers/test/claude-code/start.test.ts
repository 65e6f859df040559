/** How Claude Code is started, and what is said when it cannot be. */
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "@aegis/contract/agent.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { endOf, eventsOf, runTurn, textOf } from "@aegis/test/helpers/turns.ts";
import { createBench } from "@aegis/test/suites/driver-bench.ts";
import { expect, test } from "vitest";
import { createClaudeCodeDriver } from "../../src/claude-code/driver.ts";
import { DriverError } from "../../src/driver.ts";
import { claudeAgent, claudeFixture, claudeUnderTest } from "./under-test.ts";

function benchOf(more: Partial<Agent>, env: Record<string, string> = {}) {
  return createBench(
    {
      make: async ({ deps }) => ({
        driver: createClaudeCodeDriver({ ...deps, env: { ...deps.env, ...env } }),
        agent: claudeAgent(more),
      }),
      absent: {},
    },
    "reply",
  );
}

async function startError(more: Partial<Agent>) {
  const bench = await benchOf(more);
  const error = await bench.open().then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof DriverError)) throw new Error(`not a DriverError: ${error}`);
  return { bench, error: error.turnError };
}

/** What the fixture says it was started with. */
async function selfOf(more: Partial<Agent>, env: Record<string, string> = {}) {
  const bench = await benchOf(more, env);
  const { conversation } = await bench.open();
  const text = textOf(await runTurn(conversation, "do:self"));
  return { bench, ...(JSON.parse(text) as { args: string[]; env: Record<string, string>; mcpFileThere: boolean }) };
}

test("a missing program is named, with the way to install it", async () => {
  const { error, bench } = await startError({ options: { command: "/nowhere/claude" } });
  expect(error).toMatchObject({ code: "not_installed", fix: expect.stringContaining("npm install") });
  // A name that no process took must not be resumed.
  expect(bench.host.resume).toBeNull();
});

test("a file that is no program is named", async () => {
  const file = join(await tempDir(), "claude");
  await writeFile(file, "text");
  await chmod(file, 0o644);
  expect((await startError({ options: { command: file } })).error).toMatchObject({
    code: "start",
    message: expect.stringContaining(file),
    fix: expect.stringContaining("chmod"),
  });
});

test("a program that ends at once is quoted", async () => {
  const { error } = await startError({ env: { FIXTURE_START: "exit" } });
  expect(error).toMatchObject({ code: "start", stderr: "no licence", message: expect.stringContaining("code 3") });
});

test("a program that prints HTML is not taken for Claude Code", async () => {
  const { error } = await startError({ env: { FIXTURE_START: "html" } });
  expect(error).toMatchObject({ code: "protocol", message: expect.stringContaining("<html>") });
});

test("full rights for root need a sandbox, and the error says how", async () => {
  const { error } = await startError({ permission: "full", env: { FIXTURE_START: "root" } });
  expect(error).toMatchObject({ code: "start", fix: expect.stringContaining("IS_SANDBOX") });
});

test("a wrong option names the right one", async () => {
  const { error } = await startError({ options: { inactivity_minute: 3 } });
  expect(error.message).toContain('did you mean "inactivity_minutes"?');
});

test("a CLI that does not know a convenience flag is started without it", async () => {
  const bench = await benchOf({ effort: "high", env: { FIXTURE_START: "old" } });
  const { conversation } = await bench.open();
  expect(textOf(await runTurn(conversation, "do:reply"))).toBe("pong");
  expect(bench.host.spawns.map(({ argv }) => argv.includes("--effort"))).toEqual([true, false]);
});

test("the name is remembered before the process that takes it starts", async () => {
  const gate = Promise.withResolvers<void>();
  const bench = await createBench(claudeUnderTest(), "reply", { rememberGate: () => gate.promise });
  const opening = bench.open();
  await new Promise((resolve) => setImmediate(resolve));
  expect(bench.host.spawns).toEqual([]);
  gate.resolve();
  await opening;
  const [name] = bench.host.remembered;
  expect(bench.host.spawns[0]?.argv).toContain(name);
});

test("a name that Claude Code has forgotten is dropped, said once, and a new conversation starts", async () => {
  const bench = await benchOf({});
  await bench.host.remember("11111111-1111-4111-8111-111111111111");
  const { conversation } = await bench.reopen();
  expect(bench.host.remembered).toEqual(["11111111-1111-4111-8111-111111111111", null, expect.any(String)]);
  expect(bench.host.notices).toMatchObject([{ level: "warning", text: expect.stringContaining("earlier history") }]);
  expect(textOf(await runTurn(conversation, "do:recall"))).toBe("prompts: 1");
});

test("a resumed conversation takes up a changed system prompt", async () => {
  const bench = await benchOf({});
  const first = await bench.open();
  await runTurn(first.conversation, "do:reply");
  await first.scope.disposeAsync();
  await bench.reopen();
  const [fresh, resumed] = bench.host.spawns.map(({ argv }) => argv.join(" "));
  expect(fresh).not.toContain("--system-prompt-snapshot");
  expect(resumed).toContain("--system-prompt-snapshot off");
  expect(resumed).toContain(`--resume ${bench.host.resume}`);
});

test("only named variables are passed on, and those of an enclosing session are not", async () => {
  const { env } = await selfOf(
    { env: { FROM_AGENT: "yes" } },
    {
      ANTHROPIC_API_KEY: "sk-test",
      OPENAI_API_KEY: "other",
      AWS_SECRET_ACCESS_KEY: "cloud",
      CLAUDE_CODE_SESSION_ID: "outer",
      CLAUDE_CODE_MAX_RETRIES: "9",
    },
  );
  expect(env).toMatchObject({ ANTHROPIC_API_KEY: "sk-test", FROM_AGENT: "yes", DISABLE_AUTOUPDATER: "1" });
  expect(env.CLAUDE_CODE_MAX_RETRIES).toBe("9");
  expect(env.TMPDIR).toContain("/state/tmp");
  for (const name of ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "CLAUDE_CODE_SESSION_ID"])
    expect(env).not.toHaveProperty(name);
});

test("cloud credentials are passed on when the agent runs in that cloud", async () => {
  const { env } = await selfOf({ env: { CLAUDE_CODE_USE_BEDROCK: "1" } }, { AWS_SECRET_ACCESS_KEY: "cloud" });
  expect(env.AWS_SECRET_ACCESS_KEY).toBe("cloud");
});

test("the plane's token is in no argument, no variable, and in no file once the CLI runs", async () => {
  const { bench, args, env, mcpFileThere } = await selfOf({});
  expect(args).toContain("--strict-mcp-config");
  expect(JSON.stringify({ args, env })).not.toContain(bench.planeToken);
  expect(mcpFileThere).toBe(false);
});

test.each([
  ["read", "plan"],
  ["write", "acceptEdits"],
  ["full", "bypassPermissions"],
  ["auto", "default"],
] as const)("permission %s is mode %s", async (permission, mode) => {
  const { args } = await selfOf({ permission });
  expect(args[args.indexOf("--permission-mode") + 1]).toBe(mode);
});

test("a plane that Claude Code did not reach is said once, loudly", async () => {
  const bench = await benchOf({ env: { FIXTURE_PLANE: "failed" } });
  const { conversation } = await bench.open();
  const notices = async () => eventsOf(await runTurn(conversation, "do:reply"), "notice");
  expect(await notices()).toMatchObject([{ level: "error", text: expect.stringContaining("failed") }]);
  expect(await notices()).toEqual([]);
});

test("the probe finds the program on PATH, and says what is wrong", async () => {
  const root = await tempDir();
  const deps = {
    processes: createProcesses({ ledgerFile: join(root, "c"), owner: root, clock: systemClock, log: silentLogger }),
    clock: systemClock,
    log: silentLogger,
  };
  const probe = (PATH: string) =>
    createClaudeCodeDriver({ ...deps, env: { PATH } }).probe(AbortSignal.timeout(scaled(10_000)));
  expect(await probe(root)).toMatchObject({ status: "missing", fix: expect.stringContaining("npm install") });

  const program = join(root, "claude");
  await writeFile(program, `#!/bin/sh\nexec ${process.execPath} ${claudeFixture} "$@"\n`, { mode: 0o755 });
  expect(await probe(root)).toMatchObject({ status: "ready", version: "2.1.325", path: program });

  await writeFile(program, "#!/bin/sh\necho '<html>'\n");
  expect(await probe(root)).toMatchObject({ status: "broken", detail: expect.stringContaining("<html>") });
});

test("a turn on a conversation that is closed fails, it does not hang", async () => {
  const bench = await benchOf({});
  const { conversation, scope } = await bench.open();
  await scope.disposeAsync();
  expect(endOf(await runTurn(conversation, "do:reply"))).toMatchObject({ reason: "failed", error: { code: "died" } });
});
