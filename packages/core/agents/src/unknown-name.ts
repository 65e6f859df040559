/** The error for a name that no entry of a list has. */
import { AegisError } from "@aegis/contract/errors.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";

/** Names the nearest entry and lists all of them; `none` is the hint for an empty list. */
export function unknownName(kind: string, name: string, names: readonly string[], none: string): AegisError {
  return new AegisError("not_found", `no ${kind} "${name}"${didYouMean(name, names)}`, {
    hint: names.length === 0 ? none : `${kind}s here: ${names.join(", ")}`,
  });
}
