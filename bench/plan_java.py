"""Planning by the Java library, for comparison: built with Maven at first use."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

VERSION: Final = "1.12.0"
_POM: Final = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>bench</groupId><artifactId>plan</artifactId><version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
  <dependencies>
    <dependency><groupId>org.apache.iceberg</groupId><artifactId>iceberg-core</artifactId><version>{VERSION}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>2.0.17</version></dependency>
  </dependencies>
</project>"""
_SOURCE: Final = r"""
import java.io.IOException;
import org.apache.iceberg.*;
import org.apache.iceberg.expressions.*;
import org.apache.iceberg.io.*;

public class PlanBench {
  static class LocalFiles implements FileIO {
    public InputFile newInputFile(String path) { return Files.localInput(path); }
    public OutputFile newOutputFile(String path) { throw new UnsupportedOperationException(); }
    public void deleteFile(String path) { throw new UnsupportedOperationException(); }
  }

  static int plan(Table table, Expression filter) throws IOException {
    int count = 0;
    try (CloseableIterable<FileScanTask> tasks = table.newScan().filter(filter).planFiles()) {
      for (FileScanTask task : tasks) { count++; }
    }
    return count;
  }

  public static void main(String[] args) throws Exception {
    int files = Integer.parseInt(args[2]);
    long low = (long) (files / 2) * 1000, high = (long) (files / 2 + files / 100) * 1000 - 1;
    Expression filter = switch (args[1]) {
      case "bounds" -> Expressions.and(Expressions.greaterThanOrEqual("c1", low), Expressions.lessThanOrEqual("c1", high));
      case "partition" -> Expressions.equal("p", 7);
      default -> Expressions.alwaysTrue();
    };
    Table table = new BaseTable(new StaticTableOperations(args[0], new LocalFiles()), "bench");
    var system = (com.sun.management.OperatingSystemMXBean) java.lang.management.ManagementFactory.getOperatingSystemMXBean();
    long start = System.nanoTime(), cpuStart = system.getProcessCpuTime();
    int count = plan(table, filter);
    double first = (System.nanoTime() - start) / 1e9, cpu = 0, warm = Double.MAX_VALUE;
    for (int i = 0; i < 12; i++) {
      start = System.nanoTime();
      cpuStart = system.getProcessCpuTime();
      plan(table, filter);
      warm = Math.min(warm, (System.nanoTime() - start) / 1e9);
      cpu = (system.getProcessCpuTime() - cpuStart) / 1e9;
    }
    Runtime runtime = Runtime.getRuntime();
    double used = (runtime.totalMemory() - runtime.freeMemory()) / 1048576.0;
    String row = "{\"files\": %d, \"first\": %.4f, \"cpu\": %.4f, \"again\": %.4f, \"peak_mb\": %.1f}%n";
    System.out.printf(row, count, first, cpu, warm, used);
  }
}
"""


def java_command(table: Path, filter_name: str, files: int) -> list[str]:
    """The command that plans once cold and then warm; its processor time is that of the last warm plan. Raises SystemExit
    where Maven or Java is missing."""
    folder = Path(tempfile.gettempdir()) / "floeberg-bench-java"
    source = folder / "PlanBench.java"
    if not (folder / "PlanBench.class").exists() or source.read_text() != _SOURCE:
        _build(folder)
    return ["java", "-cp", f"{folder}:{folder / 'lib'}/*", "PlanBench", str(table), filter_name, str(files)]


def _build(folder: Path) -> None:
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        raise SystemExit("--java needs Maven (mvn) and a JDK (javac)")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(_POM)
    (folder / "PlanBench.java").write_text(_SOURCE)
    copy = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'lib'}"]
    subprocess.run(copy, cwd=folder, check=True)
    subprocess.run(["javac", "-cp", f"{folder / 'lib'}/*", "PlanBench.java"], cwd=folder, check=True)
