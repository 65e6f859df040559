/** Cost, context and model of each session, kept up to date by events. */
import type { Event } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { SessionView } from "@aegis/contract/session.ts";

export type SessionFigures = {
  /** US dollars of the turns with known cost; null if none is known. */
  readonly cost: number | null;
  readonly context: { readonly used: number; readonly size: number | null } | null;
  readonly model: string | null;
};

export type Figures = Readonly<Record<SessionId, SessionFigures>>;

export const noFigures: SessionFigures = { cost: null, context: null, model: null };

export function figuresOf(sessions: readonly SessionView[]): Figures {
  return Object.fromEntries(
    sessions.map(({ id, usage, context }) => [
      id,
      { cost: usage?.cost ?? null, context: context ?? null, model: null },
    ]),
  );
}

export function reduceFigures(figures: Figures, event: Event): Figures {
  if (event.session === null) return figures;
  const before = figures[event.session] ?? noFigures;
  const change = changeBy(before, event);
  return change === null ? figures : { ...figures, [event.session]: { ...before, ...change } };
}

function changeBy(before: SessionFigures, event: Event): Partial<SessionFigures> | null {
  switch (event.type) {
    case "turn.context":
      return { context: { used: event.data.used, size: event.data.size } };
    case "turn.mode":
      return event.data.model === null ? null : { model: event.data.model };
    case "turn.ended": {
      const cost = event.data.usage?.cost ?? null;
      return cost === null ? null : { cost: (before.cost ?? 0) + cost };
    }
    default:
      return null;
  }
}

/** `41 %` of a known context, or the number of tokens; null if the harness never reported it. */
export function contextWords({ context }: SessionFigures): string | null {
  if (context === null) return null;
  if (context.size !== null && context.size > 0) return `${Math.round((100 * context.used) / context.size)} %`;
  return context.used < 1000 ? String(context.used) : `${Math.round(context.used / 1000)}k`;
}
