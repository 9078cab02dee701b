import BothyCache
import BothyStore

/// Archives that a style names in place of TileJSON documents or addresses of tiles, by `pmtiles://` and `mbtiles://`.
///
/// `pmtiles://https://…` is an archive on a web server. Any other address means a file. A style is a stranger's document
/// and chooses no file of the device: the app registers the archive as a source, with the id of the style's part.
enum StyleArchive {
  private static let schemes = ["pmtiles://", "mbtiles://"]

  /// Returns the address of a source's archive as the style has it, or `nil` for other sources.
  static func text(of source: JSONValue) -> String? {
    let templates = source["tiles"]?.arrayValue
    guard let text = templates == nil ? source["url"]?.stringValue : templates?.first?.stringValue,
      isArchive(text)
    else { return nil }
    return String(text[..<(text.firstRange(of: "/{z}")?.lowerBound ?? text.endIndex)])
  }

  /// True for the address of an archive.
  static func isArchive(_ address: String) -> Bool { schemes.contains { address.hasPrefix($0) } }

  /// Returns the address on a web server of an archive or of anything else, or `nil` for a file.
  static func web(_ address: String) -> StyleAddress? {
    StyleAddress(address.hasPrefix(schemes[0]) ? String(address.dropFirst(schemes[0].count)) : address)
  }

  /// True for an archive that the app has as a file.
  static func isFile(_ address: String) -> Bool { isArchive(address) && web(address) == nil }

  /// Returns the names of sources by the addresses of their archives. Of several with one archive, the first counts.
  static func names(_ addresses: [String: String]) -> [String: String] {
    var names: [String: String] = [:]
    for (name, address) in addresses where isArchive(address) {
      names[address] = min(names[address] ?? name, name)
    }
    return names
  }
}

extension StyleAddress {
  private static let schemeLength = 10
  private static let longestFile = 1024

  /// Returns the address of an archive that a document at this address names, without the secrets of this host.
  ///
  /// Throws `BothyError` `invalidSource` for an address that isn't requested, with the reason.
  func resolving(
    archive text: String, for what: String, hiding secrets: Set<String>
  ) throws(BothyError) -> String {
    let kind = String(text.prefix(Self.schemeLength))
    let place = String(text.dropFirst(Self.schemeLength))
    if ["https://", "http://"].contains(where: { place.lowercased().hasPrefix($0) }) {
      guard kind == "pmtiles://" else {
        throw BothyError(
          .invalidSource,
          "The style's \(what) is '\(text.prefix(200))'. MBTiles on a server can't be read in parts: use PMTiles there."
        )
      }
      return kind + (try resolving(place, for: what).hiding(secrets, of: self).text)
    }
    guard text.utf8.count <= Self.longestFile else {
      throw BothyError(.invalidSource, "The style's \(what) is a file with a name of over 1024 bytes.")
    }
    return text
  }
}

extension MapClosure {
  /// Returns the source of an archive's tiles, or `nil` for a file, whose source the app has registered itself.
  ///
  /// Throws `BothyError` `invalidSource` for a file without such a source.
  func archive(
    _ address: String, _ name: String, of own: ResourceSource, in cache: ResourceCache
  ) throws(BothyError) -> ResourceSource? {
    let id = self.id(name, of: own.id)
    let known = cache.source(id)
    guard let place = StyleArchive.web(address) else {
      guard known?.container?.reader != nil else {
        throw BothyError(
          .invalidSource,
          "The style's source '\(name)' is the file '\(address.prefix(200))', and no style chooses files. Register its "
            + "archive before the style, as a source with the id '\(id)'.")
      }
      return nil
    }
    let owner = place.authority == StyleAddress(style)?.authority ? own : Self.stranger(own)
    var source = try ResourceSource(
      id, archive: place.text, freshness: owner.freshness, limits: owner.limits, secrets: owner.secrets,
      allowsBulkDownload: owner.allowsBulkDownload)
    source.headers = owner.headers
    source.requiresUserAgent = owner.requiresUserAgent
    source.admitsRedirect = owner.admitsRedirect
    source.rateGroup = owner.rateGroup ?? owner.id.name
    // The directories that were read stay in memory.
    if let known, known.address == source.address { source.container = known.container }
    return source
  }
}
