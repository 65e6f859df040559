/**
 * Agents that share one folder and one file: each appends lines by reading the file and writing all of it. What counts is
 * the file afterwards: it has every line that an agent wrote, once.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { exactlyOne } from "./check.ts";
import { deliver, freshMessage, type Sent, sentAgain, startLoad } from "./load.ts";
import type { Random } from "./random.ts";
import { type Checked, type Scenario, untilIdle, type Work } from "./scenario.ts";

const editor = fileURLToPath(new URL("editor.mjs", import.meta.url));
const agents = 8;
const linesPerMessage = 5;
const shared = "shared.txt";
const journal = "written.txt";

export class Claims implements Scenario {
  readonly files: Record<string, string> = { [shared]: "", [journal]: "" };
  readonly #random: Random;
  readonly #edits: number;
  readonly #sessions: SessionId[] = [];
  #sent = 0;
  #backlog: Sent[] = [];

  /** After the rounds, as many edits are made without kills. */
  constructor(random: Random, edits: number) {
    this.#random = random;
    this.#edits = edits;
  }

  async arrange(project: string): Promise<void> {
    const flags = [`--file=${join(project, shared)}`, `--journal=${join(project, journal)}`, "--pause=3"];
    const options = { command: [process.execPath, editor, ...flags] };
    const agent = JSON.stringify({ harness: "acp", permission: "write", options });
    await mkdir(join(project, ".aegis", "agents"), { recursive: true });
    await writeFile(join(project, ".aegis", "agents", "editor.yaml"), agent);
  }

  async prepare(client: Client): Promise<void> {
    for (let index = 0; index < agents; index++) {
      const { session } = await client.call("createSession", { body: { agent: "editor", handle: `editor-${index}` } });
      this.#sessions.push(session.id);
    }
  }

  load(client: Client, round: number): Work {
    const load = startLoad(client, {
      writers: agents,
      fresh: () => this.#fresh(this.#random.pick(this.#sessions), round),
      backlog: this.#backlog,
      isReady: ({ pending }) => pending < 2,
    });
    return {
      stop: async () => {
        await load.stop();
        this.#sent += load.sent.length;
        this.#backlog = sentAgain(load.sent, this.#random);
      },
    };
  }

  async finish(client: Client): Promise<void> {
    const turns = Math.ceil(this.#edits / agents / linesPerMessage);
    const more = this.#sessions.flatMap((session) => Array.from({ length: turns }, () => this.#fresh(session, 0)));
    for (const message of [...this.#backlog, ...more]) await deliver(client, message);
    this.#sent += more.length;
  }

  drained(client: Client): Promise<void> {
    return untilIdle(client);
  }

  async check(events: readonly Event[], project: string): Promise<Checked> {
    const lines = async (name: string) =>
      (await readFile(join(project, name), "utf8")).split("\n").filter((line) => line !== "");
    const found = Map.groupBy(await lines(shared), (line) => line);
    const written = new Set(await lines(journal));
    const refusals = events.filter(({ type }) => type === "claim.refused").length;
    return {
      findings: [...written].flatMap((line) => exactlyOne(found.get(line)?.length ?? 0, `the edit "${line}"`)),
      counts: { "messages to editors": this.#sent, edits: written.size, "refused edits": refusals },
    };
  }

  progress(): string {
    return `${this.#sent} messages to editors`;
  }

  #fresh(session: SessionId, round: number): Sent {
    return freshMessage(session, round, (token) => `append ${token} ${linesPerMessage}`, "line");
  }
}
