import Bars
import Foundation

/// `scripts/bench-settings`: the cost of a read of settings after the first, compared with a read of that struct behind
/// a lock.
@main
struct SettingsBenchmarks {
  static func main() async {
    do {
      let folder = try RunFolder("bothy-settings")
      defer { folder.remove() }
      printLoad("before")
      let bars = try await ReadRun(folder: folder.path).bars()
      printLoad("after")
      print()
      Bar.print(bars)
      exit(bars.allSatisfy(\.holds) ? 0 : 1)
    } catch {
      FileHandle.standardError.write(Data("bench-settings: \(error)\n".utf8))
      exit(2)
    }
  }
}
