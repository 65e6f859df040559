/** Where model ids lead, and which model is taken when none is named. */
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { describe, expect, onTestFinished, test } from "vitest";
import { detectNativeModel, probeNative } from "../../src/native/detect.ts";
import { costsOf, resolveModel } from "../../src/native/models.ts";

const nowhere = { OLLAMA_HOST: "127.0.0.1:9" };
const never = new AbortController().signal;

describe("a model id", () => {
  test.each([
    ["anthropic/claude-sonnet-4-5", {}, "anthropic", "https://api.anthropic.com/v1", "claude-sonnet-4-5"],
    ["anthropic/x", { ANTHROPIC_BASE_URL: "http://p:1/" }, "anthropic", "http://p:1/v1", "x"],
    ["openai/gpt-5.5", {}, "openai-responses", "https://api.openai.com/v1", "gpt-5.5"],
    ["openai/x", { OPENAI_BASE_URL: "http://p:1/v1" }, "openai-responses", "http://p:1/v1", "x"],
    ["google/x", { GOOGLE_GEMINI_BASE_URL: "http://p:1" }, "google", "http://p:1/v1beta", "x"],
    ["openrouter/a/b", {}, "openai-chat", "https://openrouter.ai/api/v1", "a/b"],
    ["ollama/qwen3:8b", {}, "openai-chat", "http://127.0.0.1:11434/v1", "qwen3:8b"],
    ["ollama/x", { OLLAMA_HOST: "0.0.0.0:7000" }, "openai-chat", "http://127.0.0.1:7000/v1", "x"],
    ["ollama/x", { OLLAMA_HOST: "box" }, "openai-chat", "http://box:11434/v1", "x"],
    ["lmstudio/x", {}, "openai-chat", "http://127.0.0.1:1234/v1", "x"],
    ["mine/x", {}, "anthropic", "http://mine/v1", "x"],
    ["vllm/x", {}, "openai-chat", "http://gpu:8000/v1", "x"],
  ])("%s with %j speaks %s at %s", (id, env, api, baseUrl, model) => {
    const settings = {
      mine: { base_url: "http://mine/", api: "anthropic" as const },
      vllm: { base_url: "http://gpu:8000/v1" },
    };
    const keys = { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o", GEMINI_API_KEY: "g", OPENROUTER_API_KEY: "r" };
    expect(resolveModel(id, settings, { ...keys, ...env })).toMatchObject({ api, baseUrl, model });
  });

  test("of a declared provider without an address is refused", () => {
    expect(() => resolveModel("mine/x", { mine: {} }, {})).toThrow("models.mine has no base_url");
  });
});

test.each([
  ["anthropic/claude-sonnet-4-5", "untold"],
  ["openrouter/a/b", "told"],
  ["ollama/qwen3:8b", "nothing"],
  ["lmstudio/x", "nothing"],
  // Moved, so that it may be anybody's.
  ["vllm/x", "untold"],
  ["mine/x", "untold"],
  ["nobody/x", "untold"],
  ["x", "untold"],
  [null, "untold"],
])("what calls of %s cost is %s", (id, costs) => {
  const settings = { mine: { base_url: "http://mine/" }, vllm: { base_url: "http://gpu:8000/v1" } };
  expect(costsOf(id, settings, {})).toBe(costs);
  expect(costsOf(id, { broken: {} }, {})).toBe("untold");
});

describe("without a named model", () => {
  test.each([
    [{ ANTHROPIC_API_KEY: "x", OPENAI_API_KEY: "y" }, "anthropic/claude-sonnet-4-5"],
    [{ OPENAI_API_KEY: "y", GEMINI_API_KEY: "z" }, "openai/gpt-5.5"],
    [{ GOOGLE_GENERATIVE_AI_API_KEY: "z" }, "google/gemini-2.5-pro"],
    [{ OPENROUTER_API_KEY: "z" }, "openrouter/openrouter/auto"],
    [{ ANTHROPIC_API_KEY: " " }, undefined],
  ])("%j gives %s", async (env, model) => {
    expect((await detectNativeModel({ ...nowhere, ...env }, fetch, never))?.model).toBe(model);
  });

  test("a local Ollama gives its first model, and is what the probe finds", async () => {
    const env = { OLLAMA_HOST: await ollama(["qwen3:8b", "llama3"]) };
    expect(await detectNativeModel(env, fetch, never)).toEqual({
      model: "ollama/qwen3:8b",
      why: `Ollama runs at http://${env.OLLAMA_HOST}`,
    });
    expect(await probeNative(env, {}, fetch, never)).toMatchObject({
      status: "ready",
      detail: "Models of ollama (2 models)",
      fix: null,
    });
  });

  test("an Ollama without models gives none", async () => {
    expect(await detectNativeModel({ OLLAMA_HOST: await ollama([]) }, fetch, never)).toBeNull();
  });

  test("an Ollama that does not answer is not waited for", async () => {
    const began = performance.now();
    const silent: typeof fetch = (_url, init) =>
      new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
    expect(await detectNativeModel({}, silent, never)).toBeNull();
    expect(performance.now() - began).toBeLessThan(scaled(3_000));
  });

  test("the probe says what to do", async () => {
    expect(await probeNative(nowhere, {}, fetch, never)).toMatchObject({
      status: "missing",
      fix: expect.stringContaining("ANTHROPIC_API_KEY"),
    });
    const ready = await probeNative(
      { ...nowhere, K: "secret" },
      { mine: { base_url: "http://x", key_env: "K" } },
      fetch,
      never,
    );
    expect(ready).toMatchObject({ status: "ready", detail: "Models of mine (K)" });
  });
});

async function ollama(names: string[]): Promise<string> {
  const server = createServer((_request, response) =>
    response.end(JSON.stringify({ models: names.map((name) => ({ name })) })),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the model library is loaded only when an agent needs it", async () => {
  const folder = fileURLToPath(new URL("../../src/native/", import.meta.url));
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const sources = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  const eager = names.filter((_, index) =>
    /^import (?!type\b)[^;]*from "(ai|@ai-sdk\/[^"]*)"/m.test(sources[index] ?? ""),
  );
  const users = names.filter((_, index) => /["'](ai|@ai-sdk\/[^"']*)["']/.test(sources[index] ?? ""));
  expect({ eager, users }).toEqual({ eager: [], users: ["sdk.ts"] });
});
