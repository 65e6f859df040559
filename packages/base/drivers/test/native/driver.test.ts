/** The native driver keeps what every driver promises, and starts or refuses with words a user can act on. */

import { newId } from "@aegis/contract/ids.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { driverHost } from "@aegis/test/helpers/driver-host.ts";
import { anthropicWire } from "@aegis/test/helpers/fake-models/anthropic.ts";
import { type FakeRequest, fakeModels } from "@aegis/test/helpers/fake-models/server.ts";
import type { Reply } from "@aegis/test/helpers/fake-models/wire.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { type Behaviour, hugeTextLength } from "@aegis/test/suites/driver-behaviours.ts";
import { driverSuite } from "@aegis/test/suites/driver-suite.ts";
import { describe, expect, test } from "vitest";
import { type DriverDeps, DriverError } from "../../src/driver.ts";
import { createNativeDriver } from "../../src/native/driver.ts";
import type { ModelSettings } from "../../src/native/models.ts";
import { agentOf } from "./seat.ts";

driverSuite("native", {
  async make({ deps }) {
    const models = await fakeModels(anthropicWire, fixtureModel);
    const env = { ...deps.env, FAKE_KEY: "key" };
    const settings = { fake: { base_url: models.url, api: "anthropic" as const, key_env: "FAKE_KEY" } };
    return { driver: createNativeDriver({ ...deps, env, models: settings }), agent: agentOf({ permission: "auto" }) };
  },
  absent: {
    die: "it has no process that could die; a broken connection is a failed turn",
    ignoresTerm: "it starts no process that outlives a tool call",
    notice: "nothing happens between its turns",
    spontaneous: "it starts no turn by itself",
    unknownEvent: "the model library has read the vendor's events before the driver sees them",
  },
});

/** Does what the last `do:` word says. */
function fixtureModel(request: FakeRequest): Reply {
  const prompts = request.transcript.filter((line) => line.startsWith("user: do:"));
  const result = request.transcript.at(-1)?.match(/^result: ([\s\S]*)/)?.[1];
  const word = (prompts.at(-1) ?? "").replace("user: do:", "").trim() as Behaviour;
  const joined = request.transcript.find((line) => /^user: (?!do:)/.test(line))?.replace("user: ", "");
  // Each look is another one, or the loop would call it a repetition.
  const nextLook = { id: "c", name: "glob", input: { pattern: `*${request.transcript.length}` } };
  const replies: Partial<Record<Behaviour, Reply>> = {
    stream: { text: ["one ", "two ", "three"] },
    think: { thinking: "hm", text: "pong" },
    tool: result === undefined ? { calls: [{ id: "c", name: "ls", input: {} }] } : { text: "pong" },
    slow: { text: "well", hang: "after text" },
    hang: { hang: "at once" },
    fail: { status: 400, message: "boom" },
    refuse: { finish: "filter" },
    garbage: { garbage: true, text: "pong" },
    hugeLine: { text: "x".repeat(hugeTextLength) },
    asks:
      result === undefined
        ? { calls: [{ id: "c", name: "bash", input: { command: "echo ran" } }] }
        : { text: /denied/i.test(result) ? "denied" : "allowed" },
    steered: joined === undefined ? { text: "listening", calls: [nextLook] } : { text: `also: ${joined}` },
    picture: { text: `images: ${pictures(request)}` },
    echo: { text: request.transcript.join("\n") },
    recall: { text: `prompts: ${prompts.length}` },
  };
  return replies[word] ?? { text: "pong" };
}

function pictures({ body }: FakeRequest): number {
  const { messages } = body as { messages: { role: string; content: { type: string }[] }[] };
  const last = messages.findLast((message) => message.role === "user");
  return last?.content.filter((part) => part.type === "image").length ?? 0;
}

describe("opening", () => {
  test.each([
    ["fkae/m", {}, "bad_model", 'did you mean "fake"?'],
    ["fake", {}, "bad_model", "provider/model"],
    ["fake/m", {}, "not_logged_in", "FAKE_KEY"],
    ["anthropic/claude", {}, "not_logged_in", "ANTHROPIC_API_KEY"],
    [null, { OLLAMA_HOST: "127.0.0.1:9" }, "not_logged_in", "no provider's key is set"],
  ])("of model %s is refused: %s", async (model, env, code, said) => {
    const error = await open({ model }, env).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DriverError);
    if (!(error instanceof DriverError)) return;
    expect(error.turnError.code).toBe(code);
    expect(error.turnError.message).toContain(said);
    expect(error.turnError.fix).toBeTruthy();
  });

  test("with an unknown option names the nearest", async () => {
    await expect(open({ options: { max_turn: 3 } }, { FAKE_KEY: "k" })).rejects.toThrow('did you mean "max_turns"?');
  });

  test("takes addresses from the environment", async () => {
    const models = await fakeModels(anthropicWire, [{ text: "pong" }]);
    const env = { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: models.url.replace("/v1", "") };
    const { conversation } = await open({ model: "anthropic/claude-sonnet-4-5" }, env);
    await Array.fromAsync(
      conversation.send(
        { text: "hi", parts: ["hi"], images: [], history: [], turn: "t", key: "k" },
        new AbortController().signal,
      ),
    );
    expect(models.requests[0]?.headers["x-api-key"]).toBe("k");
  });
});

async function open(agent: Parameters<typeof agentOf>[0], env: Record<string, string>) {
  const models: ModelSettings = { fake: { base_url: "http://127.0.0.1:9/v1", key_env: "FAKE_KEY" } };
  const processes: DriverDeps["processes"] = {
    start: () => Promise.reject(new Error("no process is started here")),
    mark: () => ({ env: {}, end: async () => {} }),
    sweep: async () => [],
    leftovers: async () => [],
    endLeftovers: async () => [],
    close: async () => {},
  };
  const driver = createNativeDriver({ env, processes, clock: systemClock, log: silentLogger, models });
  const cwd = await tempDir();
  const session = { id: newId("ses", 0), handle: "lucid-hertz" };
  const place = { cwd, stateDir: cwd, systemPrompt: "", resume: null, fork: null, memory: [], plane: null };
  const scope = new AsyncDisposableStack();
  const conversation = await driver.open({ session, agent: agentOf(agent), ...place, host: driverHost() }, scope);
  return { conversation, scope };
}
