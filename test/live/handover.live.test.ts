/** The daemon is killed while a model is silent: each prompt is counted in what the real CLI keeps of its conversation. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Receipt } from "@aegis/contract/message.ts";
import { expect, it } from "vitest";
import { answerTo, createSession, say } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import type { LiveHarness } from "./support/harness.ts";
import { claudeCode } from "./support/harnesses/claude-code.ts";
import { codex } from "./support/harnesses/codex.ts";
import { gemini } from "./support/harnesses/gemini.ts";
import { opencode } from "./support/harnesses/opencode.ts";
import { liveTeam } from "./support/team.ts";

const harnesses = [claudeCode, codex, gemini, opencode];
const team = liveTeam(harnesses);
const slowMs = 110_000;

type Seat = { harness: LiveHarness; session: string };
type Sent = Seat & { receipt: Receipt };

/** Every model has the message and says nothing; then the daemon is killed. */
async function killInSilence(seats: readonly Seat[], work: string): Promise<Sent[]> {
  const gate = join(team.places.folder, `${work}.gate`);
  const sent: Sent[] = [];
  for (const seat of seats) {
    const receipt = await say(team.client, seat.session, `SILENT ${gate}\nthe ${work}`);
    sent.push({ ...seat, receipt });
  }
  const has = ({ harness }: Seat) => team.model(harness).calls().at(-1)?.includes(`the ${work}`) === true;
  await waitUntil("every model has the message", () => seats.every(has), slowMs);
  await team.killDaemon();
  await writeFile(gate, "");
  return sent;
}

const all = <T, R>(items: readonly T[], work: (item: T) => Promise<R>) => Promise.all(items.map(work));

const copies = (text: string, part: string) => text.split(part).length - 1;

it("a prompt that a CLI has is not sent again; one that it lost with its history is, with a mark", async () => {
  const seats = await all(harnesses, async (harness): Promise<Seat> => {
    const { id } = await createSession(team.client, { agent: harness.harness });
    const { message, session } = await say(team.client, id, "hello");
    expect(await answerTo(team.client, { message, session }, slowMs)).toBe("reply: hello");
    return { harness, session: id };
  });

  const sent = await killInSilence(seats, "first work");
  await team.startDaemon();
  await all(sent, async ({ harness, receipt }) => {
    const name = harness.harness;
    expect(await answerTo(team.client, receipt, slowMs), name).not.toBe("");
    const prompts = await harness.prompts(team.places);
    expect(
      prompts.filter((text) => text.includes("the first work")),
      name,
    ).toHaveLength(1);
    expect(
      prompts.filter((text) => text.includes("Your last turn was cut")),
      name,
    ).toHaveLength(1);
    expect(copies(team.model(harness).calls().at(-1) ?? "", "the first work"), name).toBe(1);
  });

  const lost = await killInSilence(seats, "second work");
  for (const { harness } of seats)
    for (const path of await harness.histories(team.places)) await rm(path, { recursive: true });
  await team.startDaemon();
  await all(lost, async ({ harness, receipt }) => {
    const name = harness.harness;
    expect(await answerTo(team.client, receipt, slowMs), name).toBe("reply: the second work");
    const prompts = (await harness.prompts(team.places)).filter((text) => text.includes("the second work"));
    expect(prompts, name).toEqual([expect.stringContaining("this conversation has no record of it")]);
    const last = team.model(harness).calls().at(-1) ?? "";
    expect(copies(last, "the second work"), name).toBe(1);
    expect(last, name).not.toContain("the first work");
  });
}, 360_000);
