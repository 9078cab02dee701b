import BothyCache
import BothyGeo
import BothyStore
import BothySync
import Foundation

extension Region {
  func text(stored: ResourceCache.Totals) -> String {
    var text = "\(name): \(state.rawValue), \(progress.text), \(stored.bytes) bytes stored"
    if let reason { text += "\n\(reason)" }
    return text
  }
}

extension RegionProgress {
  var text: String {
    var text = "\(done) of \(total) tiles"
    if absent > 0 { text += ", \(absent) of them absent" }
    if loaded > 0 { text += ", \(loaded) loaded" }
    if confirmed > 0 { text += ", \(confirmed) confirmed" }
    if gone > 0 { text += ", \(gone) kept though the server says they are gone" }
    if failed > 0 { text += ", \(failed) failed" }
    if let obstacle { text += ", waiting: \(obstacle)" }
    return text
  }
}

extension OfflineRegions.Estimate {
  func write(to writer: inout JSONWriter) {
    writer.object("estimate") { writer in
      writer.member("tiles", tiles)
      writer.member("bytes", bytes)
      writer.member("bytesPerTile", bytesPerTile)
      writer.member("sample", sample)
    }
  }

  var text: String {
    let basis = sample > 0 ? "the mean of \(sample) stored" : "assumed, as none is stored yet"
    return "\(tiles) tiles, about \(bytes) bytes (\(bytesPerTile) each, \(basis))"
  }
}

/// The printed result of loading a region.
struct RegionResult {
  let region: Region
  let stored: ResourceCache.Totals
  let failures: [RegionFailure]
  var estimate: OfflineRegions.Estimate?

  init(_ region: Region, of regions: OfflineRegions, _ estimate: OfflineRegions.Estimate? = nil) async throws
  {
    self.region = region
    self.estimate = estimate
    stored = try await regions.stored(region.id)
    failures = try await regions.failures(of: region.id)
  }

  /// Prints the result. Throws if the region must be complete and isn't.
  func show(_ output: OutputOptions, mustBeComplete: Bool) throws {
    try output.print {
      region.text(stored: stored)
    } json: { writer in
      region.write(to: &writer, stored: stored)
      estimate?.write(to: &writer)
      writer.list("failures", failures) { writer, failure in
        writer.member("tile", failure.tile?.description)
        writer.member("message", failure.message)
      }
    }
    guard mustBeComplete, region.state != .complete else { return }
    for failure in failures.prefix(20) { StandardStreams.note("bothy: \(failure.message)") }
    let failed = "\(region.progress.failed) of \(region.tiles) tiles failed"
    let what =
      switch region.state {
      case .paused: "The region '\(region.name)' was paused"
      case .outdated: "\(failed), and their older versions are kept"
      default: failed
      }
    throw ToolError("\(what); `bothy region resume` continues.")
  }
}
