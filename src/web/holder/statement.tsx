// Statement. In work.

import { PageHead, Shell, Skeleton } from "../parts";

export default function Page() {
  return (
    <Shell app="holder" page="statement" title="Statement">
      <PageHead title="Statement" />
      <Skeleton />
    </Shell>
  );
}
