/** One conversation with the offline agent: finds the rule for each message of a turn and runs its steps. */
import type { Clock } from "../../lib/clock.ts";
import { errorText } from "../../lib/log.ts";
import type { Conversation, ConversationSpec, DriverEvent, Prompt, TurnEnded } from "../driver.ts";
import { type Incoming, splitMessages } from "./incoming.ts";
import type { Playbook, Rule } from "./playbook/playbook.ts";
import { render } from "./playbook/template.ts";
import { runStep } from "./steps.ts";

export type ConversationOptions = {
  spec: ConversationSpec;
  playbook: Playbook;
  clock: Clock;
  /** Aborts when the conversation is closed. */
  closed: AbortSignal;
};

type Match = { rule: Rule; captures: readonly string[] };

/** Silence would look like an agent that thinks. */
const noRule: Rule = {
  name: "no rule matches",
  from: null,
  when: [],
  steps: [{ say: "I am an offline agent, and no rule of my playbook matches this message." }],
};

export function createConversation(options: ConversationOptions): Conversation {
  let dead = false;
  let turns = 0;

  return {
    get alive() {
      return !dead && !options.closed.aborted;
    },
    async *send(prompt, signal) {
      if (dead || options.closed.aborted) {
        yield ended("failed", { code: "died", message: "this conversation of the offline agent has ended" });
        return;
      }
      turns += 1;
      const either = AbortSignal.any([signal, options.closed]);
      const end = yield* runTurn(prompt, turns, either, options);
      if (end.error?.code === "died") dead = true;
      yield end;
    },
  };
}

async function* runTurn(
  prompt: Prompt,
  number: number,
  signal: AbortSignal,
  { spec, playbook, clock }: ConversationOptions,
): AsyncGenerator<DriverEvent, TurnEnded> {
  const common = { handle: spec.session.handle, turn_number: String(number) };
  try {
    signal.throwIfAborted();
    if (number === 1 && playbook.opening !== null) {
      yield { type: "text", message: `${prompt.turn}/opening`, text: render(playbook.opening, common) };
    }
    for (const [nth, message] of splitMessages(prompt.text).entries()) {
      const { rule, captures } = findRule(playbook, message);
      const values = { ...namedCaptures(captures), ...common, text: message.body, sender: message.sender };
      for (const [index, step] of rule.steps.entries()) {
        signal.throwIfAborted();
        // A step's place does not depend on how others went: a prompt that is sent again after a crash acts once.
        const place = `${nth}.${index}`;
        const names = { id: `${prompt.turn}/${place}`, key: `${prompt.key}/${place}` };
        const outcome = yield* runStep(step, { ...names, values, spec, clock, signal });
        if (outcome === "leave rule") break;
        if (outcome !== "next") return ended(outcome.reason, outcome.error);
      }
    }
    signal.throwIfAborted();
    return ended("completed");
  } catch (error) {
    if (signal.aborted) return ended("cancelled");
    return ended("failed", { code: "internal", message: `the offline agent broke: ${errorText(error)}` });
  }
}

function findRule(playbook: Playbook, message: Incoming): Match {
  for (const rule of playbook.rules) {
    if (rule.from !== null && !rule.from.includes(message.kind)) continue;
    for (const matches of rule.when) {
      const captures = matches(message.body);
      if (captures !== null) return { rule, captures };
    }
  }
  return { rule: noRule, captures: [] };
}

function namedCaptures(captures: readonly string[]): Record<string, string> {
  return Object.fromEntries(captures.map((capture, index) => [String(index), capture]));
}

function ended(reason: TurnEnded["reason"], error: TurnEnded["error"] = null): TurnEnded {
  return { type: "turn.ended", reason, error, usage: null };
}
