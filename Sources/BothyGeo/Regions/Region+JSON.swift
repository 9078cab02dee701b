package import BothyCache
import BothyStore

/// The JSON form of a region for command-line tools.
extension Region {
  /// Writes the members of a region, with the number and bytes of its stored tiles.
  package func write(to writer: inout JSONWriter, stored: ResourceCache.Totals) {
    writer.member("name", name)
    writer.member("id", id)
    writer.member("source", plan.source.name)
    writer.member("minzoom", plan.zooms.lowest)
    writer.member("maxzoom", plan.zooms.highest)
    let bounds = plan.area.bounds
    writer.array("bounds", [bounds.west, bounds.south, bounds.east, bounds.north]) { $0.value($1) }
    writer.member("state", state.rawValue)
    writer.member("reason", reason)
    writer.member("tiles", tiles)
    writer.member("done", progress.done)
    writer.member("absent", progress.absent)
    writer.member("gone", progress.gone)
    writer.member("failed", progress.failed)
    writer.member("loaded", progress.loaded)
    writer.member("confirmed", progress.confirmed)
    writer.member("bytesLoaded", progress.bytesLoaded)
    writer.member("stored", stored.count)
    writer.member("bytes", stored.bytes)
    writer.member("created", createdAt.rfc3339)
    writer.member("completed", completedAt?.rfc3339)
  }
}
