import { z } from "zod";
import { type Id, type IdPrefix, isId } from "./ids.ts";

function idSchema<P extends IdPrefix>(prefix: P) {
  return z.custom<Id<P>>((value) => typeof value === "string" && isId(prefix, value), {
    error: `expected an id: ${prefix}_ and 26 letters and digits`,
  });
}

export const sessionIdSchema = idSchema("ses");
export const messageIdSchema = idSchema("msg");
export const turnIdSchema = idSchema("trn");
export const askIdSchema = idSchema("ask");
export const taskIdSchema = idSchema("tsk");
export const runIdSchema = idSchema("run");
export const firingIdSchema = idSchema("fir");
export const broadcastIdSchema = idSchema("brd");
export const groupIdSchema = idSchema("grp");
export const landingIdSchema = idSchema("lnd");
export const receiptIdSchema = idSchema("rcp");
