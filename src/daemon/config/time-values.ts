/** Whether a text of a config file names a time, a zone or a rhythm. */

export function isIsoTime(value: string): boolean {
  return (
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?$/.test(value) &&
    !Number.isNaN(Date.parse(value))
  );
}

export function isTimezone(value: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

const cronFields = [
  { min: 0, max: 59, names: "" },
  { min: 0, max: 23, names: "" },
  { min: 1, max: 31, names: "" },
  { min: 1, max: 12, names: "jan feb mar apr may jun jul aug sep oct nov dec" },
  { min: 0, max: 7, names: "sun mon tue wed thu fri sat" },
] as const;

export function isCron(value: string): boolean {
  const fields = value.trim().split(/\s+/);
  return (
    fields.length === cronFields.length &&
    cronFields.every((rule, index) => (fields[index] ?? "").split(",").every((part) => isCronPart(part, rule)))
  );
}

function isCronPart(part: string, rule: { min: number; max: number; names: string }): boolean {
  const [range = "", step, ...rest] = part.split("/");
  if (rest.length > 0 || (step !== undefined && !/^[1-9]\d*$/.test(step))) return false;
  if (range === "*") return true;
  const ends = range.split("-").map((end) => cronNumber(end, rule));
  const [from, to = from] = ends;
  return ends.length <= 2 && from !== null && to !== null && from !== undefined && to !== undefined && from <= to;
}

function cronNumber(text: string, rule: { min: number; max: number; names: string }): number | null {
  const named = rule.names === "" ? -1 : rule.names.split(" ").indexOf(text.toLowerCase());
  if (named !== -1) return named + rule.min;
  const number = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return number >= rule.min && number <= rule.max ? number : null;
}
