import type { Ask } from "@aegis/contract/ask.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import type { Handlers } from "./requests.ts";
import type { RedactedViews } from "./shown.ts";

/** What these handlers call. */
export type AskServices = {
  asks: Pick<Asks, "list" | "get" | "answer">;
  shown: RedactedViews;
};

export function askHandlers({ asks, shown }: AskServices) {
  return {
    async listAsks({ query: { status, limit } }) {
      const found = await asks.list({ status: status === "all" ? undefined : status, limit });
      return { asks: found.map((ask) => shown.ask(ask)) };
    },
    getAsk: async ({ path }) => ({ ask: shown.ask(await asks.get(path.ask)) }),
    async answerAsk({ path, body }, _signal, caller) {
      const { digest, ...rest } = body;
      const { via, ...answer } = caller.kind === "owner" ? rest : { ...rest, via: `client:${caller.name}` };
      if (caller.kind === "client") requireQuestion(await asks.get(path.ask), digest);
      return { ask: shown.ask(await asks.answer(path.ask, answer, digest, via)) };
    },
  } satisfies Partial<Handlers>;
}

/** A client forwards a person's answer to a question. It cannot prove that, so it approves no action. */
function requireQuestion({ kind }: Ask, digest: string | undefined): void {
  if (kind !== "question") {
    const hint = "answer with `aegis answer`, in a chat, or in an editor";
    throw new AegisError("forbidden", "a client cannot approve a tool call", { hint });
  }
  if (digest === undefined) throw new AegisError("invalid", "a client must send the digest of the ask it shows");
}
