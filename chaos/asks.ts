/** The person who answers what agents ask: each ask once, some of them only after the daemon was killed. */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@aegis/client/client.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { Finding } from "./check.ts";
import { throwUnlessGone } from "./load.ts";
import type { Random } from "./random.ts";
import { type Checked, goOn, type Work } from "./scenario.ts";

const longestPatienceMs = 2_500;

export class Person {
  readonly #random: Random;
  /** When each open ask is to be answered. */
  readonly #due = new Map<string, number>();
  readonly #answered = new Set<string>();
  #isHurried = false;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Answers at once from now on. */
  hurry(): void {
    this.#isHurried = true;
  }

  /** Answers until it is stopped or the daemon is gone. */
  attend(client: Client): Work {
    return goOn((signal) => this.#answerAll(client, signal));
  }

  async #answerAll(client: Client, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const { asks } = await client.call("listAsks", { signal });
        for (const ask of asks) if (this.#isDue(ask)) await this.#answer(client, ask, signal);
      } catch (error) {
        throwUnlessGone(error);
      }
      await delay(20);
    }
  }

  #isDue({ id, status }: Ask): boolean {
    if (status !== "open" || this.#answered.has(id)) return false;
    const due = this.#due.get(id) ?? Date.now() + this.#random.between(0, longestPatienceMs);
    this.#due.set(id, due);
    return this.#isHurried || Date.now() >= due;
  }

  async #answer(client: Client, { id, options }: Ask, signal: AbortSignal): Promise<void> {
    const choice = options.find((option) => option === "allow") ?? options[0];
    try {
      await client.call("answerAsk", {
        path: { ask: id },
        body: choice === undefined ? { text: "yes" } : { choice },
        signal,
      });
      this.#answered.add(id);
    } catch (error) {
      // An answer without a reply may have counted; or the turn that asked has ended meanwhile.
      if (isAegisError(error) && error.code === "conflict") this.#answered.add(id);
      else throwUnlessGone(error);
    }
  }

  /** Each ask ends once; of two asks about the same thing the first has ended before the second is opened. */
  check(events: readonly Event[]): Checked {
    const findings: Finding[] = [];
    const open = new Map<string, string>();
    const opened = new Map<string, string>();
    const settled = new Map<string, number>();
    const asked = new Map<string, number>();
    for (const event of events) {
      if (event.type === "ask.opened") {
        const { id, question } = event.data.ask;
        opened.set(id, question);
        asked.set(question, (asked.get(question) ?? 0) + 1);
        const before = open.get(question);
        if (before !== undefined)
          findings.push({ kind: "doubled", what: `"${question}" was asked as ${id} while ${before} was open` });
        open.set(question, id);
      }
      if (event.type === "ask.settled") {
        settled.set(event.data.ask, (settled.get(event.data.ask) ?? 0) + 1);
        open.delete(opened.get(event.data.ask) ?? "");
      }
    }
    for (const [id, question] of opened) {
      const times = settled.get(id) ?? 0;
      if (times > 1) findings.push({ kind: "doubled", what: `${id} ("${question}") was settled ${times} times` });
      if (times === 0) findings.push({ kind: "unanswered", what: `${id} ("${question}") was never settled` });
      if (this.#answered.has(id) && times === 0) findings.push({ kind: "lost", what: `the answer to ${id} is gone` });
    }
    const again = [...asked.values()].reduce((sum, times) => sum + times - 1, 0);
    return { findings, counts: { asks: opened.size, "asked again": again } };
  }
}
