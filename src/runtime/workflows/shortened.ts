/** Text of a command's output. What is too long loses its middle, and says so. */
const mostBytes = 4 * 1024 * 1024;
const headBytes = 1024 * 1024;

export function shortened(output: Buffer): string {
  if (output.length <= mostBytes) return output.toString("utf8");
  const head = output.subarray(0, headBytes).toString("utf8");
  const tail = output.subarray(output.length - (mostBytes - headBytes)).toString("utf8");
  return `${head}\n[… ${output.length - mostBytes} bytes are left out …]\n${tail}`;
}
