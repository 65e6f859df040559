/** A runtime whose agents are asked by a test, in a project with skills. */
import type { Agent } from "@aegis/contract/agent.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { DriverEvent } from "@aegis/drivers/driver.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import {
  completed,
  nextTurnEnded,
  said,
  type TestDriver,
  type TestReply,
  type TestRuntime,
  testDriver,
  testRuntime,
} from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { writeTree } from "./fixtures.ts";

export const accepted: DriverEvent = { type: "accepted" };

export async function* plainly(): AsyncGenerator<DriverEvent> {
  yield accepted;
  yield said("ok");
  yield completed;
}

export type Scene = TestRuntime & {
  dir: string;
  session: SessionId;
  /** What the agent was sent for a message. */
  say(text: string, session?: SessionId): Promise<string>;
  /** The names of skills whose text is in what it was sent. */
  given(text: string, session?: SessionId): Promise<string[]>;
};

export type SceneOptions = {
  reply?: TestReply;
  /** Over the fields of the offline agent; the first is the default. */
  agents?: Partial<Agent>[];
  dir?: string;
};

export async function scene(files: Record<string, string>, options: SceneOptions = {}): Promise<Scene> {
  const dir = options.dir ?? (await tempDir());
  writeTree(dir, files);
  const driver = testDriver(options.reply ?? plainly);
  const runtime = await testRuntime(dir, driver);
  const agents = (options.agents ?? [{}]).map((fields) => ({ ...offlineAgent, ...fields }));
  runtime.agents.replace(agents, { slug: agents[0]?.slug ?? "", why: "a test" });
  const { session } = await runtime.sessions.create({});
  const ask = (text: string, id: SessionId = session.id) => say(runtime, driver, id, text);
  return {
    ...runtime,
    dir,
    session: session.id,
    say: ask,
    given: async (text, id) => namesIn(await ask(text, id)),
  };
}

async function say(runtime: TestRuntime, driver: TestDriver, session: SessionId, text: string): Promise<string> {
  const before = driver.turns.length;
  await nextTurnEnded(runtime, session, () => runtime.inbox.admit({ session, sender: { kind: "human" }, body: text }));
  return driver.turns.slice(before).find((turn) => turn.session === session)?.prompt.text ?? "";
}

export function namesIn(prompt: string): string[] {
  return [...prompt.matchAll(/<skill name="([^"]+)">/g)].map(([, name]) => name ?? "");
}
