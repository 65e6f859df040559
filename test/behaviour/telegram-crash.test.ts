// @module-tag slow
/** Kills the daemon at every instant between an update of Telegram and the answer to it, one life for each. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { FakeBotApi } from "../helpers/fake-bot-api.ts";
import { obedient, testProject } from "../helpers/project.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const preload = pathToFileURL(join(import.meta.dirname, "kill-at.ts")).href;
const ada = 7;
/** `npm test` takes one of so many instants; AEGIS_EVERY_INSTANT=1 takes all of them. */
const stride = process.env.AEGIS_EVERY_INSTANT === "1" ? 1 : 4;

/** One life. False when the answer was sent before so many instants had passed. */
async function killedAt(last: number): Promise<boolean> {
  const fake = await FakeBotApi.start();
  fake.chat(ada);
  const config = `${obedient[".aegis.yaml"]}telegram: { token_env: BOT_TOKEN, users: [7], stream: off, api_root: "${fake.url}" }\n`;
  const project = await testProject({ ...obedient, ".aegis.yaml": config });
  const file = join(project.dir, "..", "kill-at");
  const env = { BOT_TOKEN: fake.token };
  const first = await project.start({ env: { ...env, NODE_OPTIONS: `--import=${preload}`, KILL_AT: file } });
  await waitUntil("it polls", () => fake.calls.some(({ method }) => method === "getUpdates"));
  await writeFile(file, String(last));
  fake.say(ada, "the work");
  let isDead = false;
  void first.exited.then(() => {
    isDead = true;
  });
  const answers = () => fake.texts(ada).filter((text) => text.includes("you said: the work"));
  const passed = async () => (await readFile(`${file}.instants`, "utf8").catch(() => "")).split("\n").length - 1;
  await waitUntil("it died or answered", () => isDead || answers().length > 0);
  if (!isDead && (await passed()) < last) return false;
  await first.exited;

  const { client } = await project.start({ env });
  await waitUntil("it was answered", () => answers().length > 0);
  const where = `killed at instant ${last}: ${(await readFile(`${file}.instants`, "utf8")).trim().split("\n").join(", ")}`;
  const { sessions } = await client.call("listSessions", { query: { closed: true } });
  expect(sessions, where).toHaveLength(1);
  const { messages } = await client.call("listMessages", { path: { session: sessions[0]?.id ?? "" } });
  const received = messages.filter(({ sender }) => sender.kind === "channel" && sender.name === "telegram");
  expect(
    received.map(({ body }) => body),
    where,
  ).toEqual(["the work"]);
  // A message that may have arrived is sent again with a mark, never without one.
  expect(answers().filter((text) => !text.startsWith("(This may be a repetition.)")).length, where).toBeLessThan(2);
  expect(fake.violations, where).toEqual([]);
  return true;
}

it("neither loses nor doubles a message, wherever the daemon is killed", { timeout: scaled(240_000) }, async () => {
  let tried = 0;
  for (let last = 1; await killedAt(last); last += stride) tried += 1;
  expect(tried).toBeGreaterThan(2);
});
