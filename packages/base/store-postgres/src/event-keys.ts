/** The keys of an event's data that have their own columns, because an index over JSON text would refuse some texts. */
export type EventKeys = { queue: string | null; run: string | null; schedule: string | null };

export function eventKeys(data: Readonly<Record<string, unknown>>): EventKeys {
  const of = (key: keyof EventKeys) => (typeof data[key] === "string" ? data[key] : null);
  return { queue: of("queue"), run: of("run"), schedule: of("schedule") };
}
