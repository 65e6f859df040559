/** Brings installs that were cut off to an end before anything reads what they were changing. */
import { isAegisError } from "../../contract/errors.ts";
import { hasLeftovers, recoverWorkspaces, type Seal } from "../../runtime/plugins/install/journal.ts";
import { itemKey } from "../../runtime/plugins/trust/trust.ts";
import type { ProjectTrust } from "../build-trust.ts";
import { alone, whileConfigRests } from "./locks.ts";

/** What was done, in words. An install that is still under way is left alone. */
export async function settleInstalls(root: string, trust: ProjectTrust): Promise<string[]> {
  if (!(await hasLeftovers(root))) return [];
  try {
    return await alone(root, () => whileConfigRests(root, () => recoverWorkspaces(root, sealWith(trust))));
  } catch (error) {
    if (isAegisError(error) && error.code === "conflict") return [];
    throw error;
  }
}

/** What was agreed to for an install is noted once it is in place, and forgotten with the plugin. */
export function sealWith({ store, root }: ProjectTrust): Seal {
  return ({ plugin, trust }) =>
    store.update(root, ({ at: _, ...project }) => {
      const { [itemKey("plugin", plugin)]: __, ...items } = project.items;
      return {
        ...project,
        items: trust === null ? items : { ...items, [itemKey("plugin", plugin)]: trust },
        dev: trust === null ? project.dev.filter((name) => name !== plugin) : project.dev,
      };
    });
}
