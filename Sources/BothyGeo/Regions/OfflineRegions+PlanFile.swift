import BothyCache
import BothyStore
import Foundation

/// The copy of a plan in a file of its own, from which a region is recovered if the list of regions is damaged.
extension OfflineRegions.Plan {
  /// Writes the copy, whole or not at all.
  func write(to file: URL) throws(BothyError) {
    let json = JSONValue.object([
      "name": .string(name), "source": .string(source.name), "area": area.json,
      "minzoom": .int(Int64(zooms.lowest)), "maxzoom": .int(Int64(zooms.highest)), "map": map?.json ?? .null,
    ])
    do { try Data(json.canonicalText.utf8).write(to: file, options: .atomic) } catch {
      throw BothyError(
        .unavailable, "\(file.path) can't be written. Check that the disk has room.", underlying: error)
    }
  }

  /// Reads a copy, or returns `nil` if it is missing or damaged.
  init?(file: URL) {
    guard let data = FileManager.default.contents(atPath: file.path),
      let json = try? JSONValue(parsing: data), let name = json["name"]?.stringValue,
      let source = json["source"]?.stringValue, let area = json["area"],
      let lowest = json["minzoom"]?.intValue, let highest = json["maxzoom"]?.intValue,
      let zooms = try? ZoomRange(Int(clamping: lowest), Int(clamping: highest)),
      let area = try? RegionArea(kept: area.canonicalText)
    else { return nil }
    self.init(name: name, source: SourceID(source), area: area, zooms: zooms)
    if let kept = json["map"], !kept.isNull {
      guard let map = MapClosure(kept: kept) else { return nil }
      self.map = map
    }
  }
}
