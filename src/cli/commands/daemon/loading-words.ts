import type { Status } from "../../../contract/api.ts";
import { plural } from "../../format/text.ts";

/** Says how many plugins are still being loaded. */
export function loadingWords({ plugins_loading }: Pick<Status, "plugins_loading">): string {
  return `${plural(plugins_loading, "plugin")} still loading; what they guard or provide waits for them.`;
}
