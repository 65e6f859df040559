/** A call that cannot be done, in words for the model. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}
