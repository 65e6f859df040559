/** A change that a person confirms: prepared and shown first, then repeated with the digest of what was shown. */
import { useState } from "preact/hooks";
import { type BusyAction, useAction } from "./busy.ts";

/** What the person has confirmed so far, as the fields of a request. */
export type GivenConsent = { accept?: string; override?: string[] };
export type ConsentAttempt<T> = (consented: GivenConsent) => Promise<T>;

export type ConsentChange<T> = {
  action: BusyAction;
  /** What waits for the person's consent. */
  shown: T | null;
  /** The answer after the change was made. */
  done: T | null;
  /** True if the content changed between showing and confirming, so that the person has to look again. */
  isOther: boolean;
  begin(attempt: ConsentAttempt<T>): void;
  /** `override`: the rules that the person typed. */
  confirm(override?: string[]): void;
  cancel(): void;
};

/** `waits`: the digest that the answer waits for; empty if it waits for another request; null if the change is made. */
export function useChange<T>(waits: (answer: T) => string | null): ConsentChange<T> {
  const action = useAction();
  type Open = { answer: T; attempt: ConsentAttempt<T>; consented: GivenConsent };
  const [open, setOpen] = useState<Open | null>(null);
  const [done, setDone] = useState<T | null>(null);
  const run = (attempt: ConsentAttempt<T>, consented: GivenConsent) =>
    void action.run(async () => {
      setDone(null);
      const answer = await attempt(consented);
      if (waits(answer) === null) {
        setOpen(null);
        setDone(answer);
      } else setOpen({ answer, attempt, consented });
    });
  return {
    action,
    shown: open?.answer ?? null,
    done,
    isOther: open?.consented.accept !== undefined,
    begin: (attempt) => run(attempt, {}),
    confirm(override = open?.consented.override) {
      if (open === null) return;
      const accept = waits(open.answer) ?? "";
      const consented: GivenConsent = accept === "" ? {} : { accept };
      if (override !== undefined) consented.override = override;
      run(open.attempt, consented);
    },
    cancel: () => setOpen(null),
  };
}
