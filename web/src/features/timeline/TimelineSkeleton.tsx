import { Skeleton } from "#/components/ui/states";

const shape = [
  [88, [70, 52]],
  [120, [86, 90, 34]],
  [72, [41]],
  [104, [78, 82, 64]],
] as const;

/** Messages that are on their way, in their true shape. */
export function TimelineSkeleton() {
  return (
    <div aria-busy="true" className="flex min-h-0 flex-1 flex-col justify-end gap-6 overflow-hidden px-5 pb-6">
      {shape.map(([name, lines]) => (
        <div key={name} className="mx-auto flex w-full max-w-[1080px] gap-3">
          <Skeleton className="size-9 rounded-full" />
          <div className="flex flex-1 flex-col gap-2 pt-1">
            <span style={{ width: name }}>
              <Skeleton className="h-3.5" />
            </span>
            {lines.map((w) => (
              <span key={w} style={{ width: `min(${w}%, ${w * 8}px)` }}>
                <Skeleton className="h-3.5" />
              </span>
            ))}
          </div>
        </div>
      ))}
    </div>
  );
}
