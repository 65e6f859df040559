/** A change that a person confirms: prepared and shown first, then repeated with the digest of what was shown. */
import { useState } from "preact/hooks";
import { type Action, useAction } from "./busy.ts";

/** Sends the request, with the digest that the person accepts if there is one. */
export type Attempt<T> = (accept: string | undefined) => Promise<T>;

export type Change<T> = {
  action: Action;
  /** What waits for the person's consent. */
  shown: T | null;
  /** The answer after the change was made. */
  done: T | null;
  /** True if the content changed between showing and confirming, so that the person has to look again. */
  isOther: boolean;
  begin(attempt: Attempt<T>): void;
  confirm(): void;
  cancel(): void;
};

export function useChange<T>(waits: (answer: T) => string | null): Change<T> {
  const action = useAction();
  const [open, setOpen] = useState<{ answer: T; attempt: Attempt<T>; isOther: boolean } | null>(null);
  const [done, setDone] = useState<T | null>(null);
  const run = (attempt: Attempt<T>, accept: string | undefined) =>
    void action.run(async () => {
      setDone(null);
      const answer = await attempt(accept);
      if (waits(answer) === null) {
        setOpen(null);
        setDone(answer);
      } else setOpen({ answer, attempt, isOther: accept !== undefined });
    });
  return {
    action,
    shown: open?.answer ?? null,
    done,
    isOther: open?.isOther ?? false,
    begin: (attempt) => run(attempt, undefined),
    confirm() {
      if (open !== null) run(open.attempt, waits(open.answer) ?? undefined);
    },
    cancel: () => setOpen(null),
  };
}
