/** How an ACP session is made, found again and set up. */

import { endOf, eventsOf, textOf } from "@aegis/test/helpers/turns.ts";
import { describe, expect, test } from "vitest";
import { noQuirks } from "../../src/acp/recipe.ts";
import { fixtureAgent } from "./fixture-agent.ts";
import { planeStub, seat } from "./seat.ts";

test("shows what a program prints that does not speak the protocol", async () => {
  const options = { command: ["/bin/sh", "-c", "echo '<html>Log in</html>'"], args: [] };
  const broken = await seat({ agent: { options } });
  await expect(broken.open()).rejects.toMatchObject({
    turnError: {
      code: "start",
      message: expect.stringContaining('ended with code 0 after printing "<html>Log in</html>" before it was ready'),
      fix: expect.stringContaining("Agent Client Protocol"),
    },
  });
});

describe("a new session", () => {
  test("gets the plane with its token, and no files or terminals of ours", async () => {
    const at = await seat({ plane: planeStub(true) });
    const settings = JSON.parse(await at.ask(await at.open(), "settings"));
    expect(settings.mcpServers).toEqual([
      {
        type: "http",
        name: "aegis",
        url: "http://127.0.0.1:9/mcp",
        headers: [{ name: "Authorization", value: "Bearer plane-token" }],
      },
    ]);
    expect(settings.capabilities).toEqual({ fs: { readTextFile: false, writeTextFile: false }, terminal: false });
  });

  test("has no plane while there is none", async () => {
    const at = await seat();
    expect(JSON.parse(await at.ask(await at.open(), "settings")).mcpServers).toEqual([]);
  });

  test("says so when the agent cannot use HTTP MCP servers", async () => {
    const at = await seat({ plane: planeStub(true), flags: ["--no-http"] });
    await at.open();
    expect(at.host.notices).toMatchObject([
      { level: "error", text: expect.stringContaining("cannot reach its peers") },
    ]);
  });

  test("sees the agent's own variables but none of the daemon's secrets", async () => {
    const at = await seat({ agent: { env: { AGENT_KEY: "mine" } } });
    const env = JSON.parse(await at.ask(await at.open(), "environment"));
    expect(env.AGENT_KEY).toBe("mine");
    expect(env.SECRET_OF_DAEMON).toBeUndefined();
  });

  test("is told who it is before its first message, once, and again when that changes", async () => {
    const at = await seat();
    const first = await at.open();
    expect(await at.ask(first, "introduction")).toBe('["You are a fixture."]');
    expect(await at.ask(first, "introduction")).toBe("[]");
    expect(await at.ask(await at.open(), "introduction")).toBe("[]");
    expect(await at.ask(await at.open({ systemPrompt: "You are new." }), "introduction")).toBe('["You are new."]');
  });

  test("without a login names the fix", async () => {
    const at = await seat({ flags: ["--auth"] });
    await expect(at.open()).rejects.toMatchObject({
      turnError: { code: "not_logged_in", message: "API key is missing", fix: expect.stringContaining("Log in") },
    });
  });

  test("of another protocol version is refused", async () => {
    const at = await seat({ flags: ["--version=9"] });
    await expect(at.open()).rejects.toMatchObject({ turnError: { code: "protocol" } });
  });
});

describe("settings", () => {
  test("go through config options where the agent has them, effort after the model that offers it", async () => {
    const at = await seat({
      flags: ["--config"],
      agent: { model: "big", effort: "high", permission: "full" },
      recipe: { modes: { read: [], write: [], full: ["nothing", "all"], auto: [] } },
    });
    expect(JSON.parse(await at.ask(await at.open(), "settings"))).toMatchObject({
      model: "big",
      effort: "high",
      mode: "all",
    });
  });

  test("go through the older methods where it has not, also to modes that are addresses", async () => {
    const at = await seat({
      flags: ["--modes=x#ask,x#all", "--models=m1,m2"],
      agent: { model: "m2", permission: "full" },
      recipe: { modes: { read: [], write: [], full: ["all"], auto: [] } },
    });
    expect(JSON.parse(await at.ask(await at.open(), "settings"))).toMatchObject({ model: "m2", mode: "x#all" });
  });

  test("name the nearest model when there is no such", async () => {
    const at = await seat({ flags: ["--config"], agent: { model: "bigg" } });
    await expect(at.open()).rejects.toMatchObject({
      turnError: { code: "bad_model", message: expect.stringContaining('did you mean "big"?') },
    });
  });

  test("take a mode by its own name, refuse one that is not there, and go on without one that is refused", async () => {
    const options = (mode: string) => ({ ...fixtureAgent(["--modes=ask,all"]).options, mode });
    const named = await seat({ agent: { options: options("all") } });
    expect(JSON.parse(await named.ask(await named.open(), "settings"))).toMatchObject({ mode: "all" });
    await expect((await seat({ agent: { options: options("al") } })).open()).rejects.toMatchObject({
      turnError: { code: "start", message: expect.stringContaining('did you mean "all"?') },
    });
    const refused = await seat({
      flags: ["--modes=ask,forbidden"],
      recipe: { modes: { read: [], write: [], full: [], auto: ["forbidden"] } },
    });
    expect(JSON.parse(await refused.ask(await refused.open(), "settings"))).toMatchObject({ mode: "ask" });
    expect(refused.host.notices).toMatchObject([{ level: "warning", text: expect.stringContaining("forbidden") }]);
  });

  test("say when an effort is not to be had", async () => {
    const at = await seat({ agent: { effort: "high" } });
    await at.open();
    expect(at.host.notices).toMatchObject([{ level: "warning", text: expect.stringContaining("effort") }]);
  });

  test("refuse an unknown option with the nearest one", async () => {
    const at = await seat({ agent: { options: { comand: "x" } } });
    await expect(at.open()).rejects.toMatchObject({
      turnError: { code: "start", message: expect.stringContaining('did you mean "command"?') },
    });
  });

  test("refuse an agent without a command, and say when the command is not there", async () => {
    await expect((await seat({ agent: { options: {} } })).open()).rejects.toMatchObject({
      turnError: { code: "start", fix: expect.stringContaining("command") },
    });
    await expect((await seat({ agent: { options: { command: "no-such-agent" } } })).open()).rejects.toMatchObject({
      turnError: { code: "not_installed" },
    });
  });
});

describe("a session found again", () => {
  test.each([[[]], [["--resume"]]])("goes on with its history and shows none of it (%j)", async (flags) => {
    const at = await seat({ flags });
    await at.run(await at.open(), "reply");
    const events = await at.run(await at.open(), "recall");
    expect(textOf(events)).toBe("prompts: 2");
    expect(at.host.remembered).toHaveLength(1);
  });

  test("waits for a replay that goes on after the answer", async () => {
    const at = await seat({ flags: ["--late-replay"], recipe: { quirks: { ...noQuirks, replayAfterLoad: true } } });
    const first = await at.open();
    for (let i = 0; i < 4; i++) await at.run(first, "reply");
    expect(textOf(await at.run(await at.open(), "recallLate"))).toBe("prompts: 5");
  });

  test("that the agent lost is forgotten, reported and started again", async () => {
    const at = await seat();
    await at.run(await at.open(), "reply");
    const before = at.host.resume;
    const events = await at.run(await at.open({ flags: ["--stale"] }), "introduction");
    expect(at.host.remembered).toEqual([before, null, expect.any(String)]);
    expect(at.host.notices).toMatchObject([{ level: "warning", text: expect.stringContaining("was lost") }]);
    expect(textOf(events)).toContain("You are a fixture.");
    expect(endOf(events).reason).toBe("completed");
  });

  test("that never had a message is made anew without a word", async () => {
    const at = await seat();
    await at.open();
    await at.open({ flags: ["--stale"] });
    expect(at.host.notices).toEqual([]);
  });

  test("is not forgotten when only the login is missing", async () => {
    const at = await seat();
    await at.run(await at.open(), "reply");
    await expect(at.open({ flags: ["--auth-load"] })).rejects.toMatchObject({ turnError: { code: "not_logged_in" } });
    expect(at.host.remembered).toHaveLength(1);
  });

  test("survives an agent that cannot load", async () => {
    const at = await seat({ flags: ["--no-load"] });
    await at.run(await at.open(), "reply");
    expect(await at.ask(await at.open(), "recall")).toBe("prompts: 1");
    expect(at.host.notices).toHaveLength(1);
  });

  test("is accepted before its first words are", async () => {
    const at = await seat();
    const events = await at.run(await at.open(), "stream");
    expect(events.findIndex((event) => event.type === "accepted")).toBeLessThan(
      events.findIndex((event) => event.type === "text_delta"),
    );
    expect(eventsOf(events, "accepted")).toHaveLength(1);
  });
});
