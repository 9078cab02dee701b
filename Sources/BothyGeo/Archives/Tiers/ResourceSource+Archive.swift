public import BothyCache
import Foundation

extension ResourceSource {
  /// Describes the tiles of an archive as a source: a file that came with the app or lies on the device, or an address.
  ///
  /// ```swift
  /// let hills = try ResourceSource("hills", archive: "https://tiles.example.org/hills.pmtiles", userAgent: "Hut/1.0")
  /// let relief = try await TileLayer(hills, in: cache).value(tile)
  /// ```
  ///
  /// A read of a tile doesn't show which it is. A PMTiles archive at an address is read by range requests, and its tiles
  /// are stored, fresh, confirmed and pinned like those of any server. A file, MBTiles or PMTiles, is read in place
  /// without a network. What it lacks does not exist. It may be replaced at any time, and the next read has the new one.
  ///
  /// A file is opened at once, at the same cost for any number of tiles. If it is missing or damaged, reads throw until it
  /// is replaced. An address is opened by the first read.
  ///
  /// - Parameters:
  ///   - id: any text that isn't empty. It must never change, because stored entries are found by it.
  ///   - archive: the path of a file, or an address that begins with `https://` or `http://`.
  ///   - freshness: the rule for tiles from an address, by default that of the server's fields.
  ///   - zooms: the zooms that have tiles, by default those of the file, or 0 to 22 for an address.
  ///   - names: the names and the attribution. What is empty is that of the file.
  /// - Throws: `BothyError` `invalidSource` for an empty id.
  public init(
    _ id: SourceID, archive: String, freshness: FreshnessRule = .http, userAgent: String? = nil,
    limits: SourceLimits = SourceLimits(), secrets: [String: String] = [:], zooms: ZoomRange? = nil,
    names: SourceNames? = nil, allowsBulkDownload: Bool = false
  ) throws(BothyError) {
    let isRemote = archive.hasPrefix("https://") || archive.hasPrefix("http://")
    let tier = isRemote ? nil : ArchiveTier(whole: archive, as: id)
    let info = tier?.info
    let range = zooms ?? info?.zooms
    var named = names ?? SourceNames()
    named.complete(name: info?.name, attribution: info?.attribution)
    var rule = freshness
    if !isRemote {
      // A file is what it is. If it is replaced, that is noticed without an age.
      rule = .manual
      rule.negativeLifetime = nil
    }
    try self.init(
      id, address: .custom("archive \(archive)") { key, _ in "\(archive)#\(key.path)" }, freshness: rule,
      userAgent: userAgent, limits: limits, secrets: secrets,
      zooms: range.map { $0.lowest...$0.highest } ?? 0...22, names: named,
      allowsBulkDownload: allowsBulkDownload)
    container = tier.map { LocalArchive($0) } ?? RemoteArchive()
  }
}

extension TileArchives {
  /// Returns the tiles of a file as a tier of a cache, before the network: as those of a source that has newer ones.
  ///
  /// Pass it to the cache as one of its `bundled` readers. The time of a tile is that of the file, and the source's
  /// rule decides on its lifetime. A tile that the file lacks is requested from the source.
  ///
  /// Opens the file, at the same cost for any number of tiles. A read costs a search in the file, and blocks its
  /// thread. A file that is deleted later counts as one without tiles.
  ///
  /// - Throws: `BothyError`: `unavailable`, `notAnArchive` or `damagedArchive`.
  public static func tier(path: String, as source: SourceID) throws(BothyError) -> any DiskCache.Reader {
    try ArchiveTier(path: path, as: source)
  }
}
