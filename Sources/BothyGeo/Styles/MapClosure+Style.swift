import BothyCore
import BothyStore

/// Reading a style: the document itself is a stranger's, so all that it names is bounded and checked.
extension MapClosure {
  /// The largest style and TileJSON document in bytes.
  package static let largestDocument = 4 << 20
  private static let mostSources = 64
  private static let mostLayers = 4096
  private static let mostHosts = 8
  private static let mostSprites = 16

  /// Reads a document of a style. Throws `BothyError` `invalidSource`.
  package static func document(_ bytes: some ContiguousBytesSource, at address: String) throws(BothyError)
    -> JSONValue
  {
    let json: JSONValue
    do {
      let size = bytes.withContiguousBytes { $0.count }
      guard size <= largestDocument else {
        throw BothyError(
          .invalidSource, "\(address) has more than \(largestDocument >> 20) MB, which no style needs.")
      }
      json = try JSONValue(parsing: bytes.withContiguousBytes { Array($0.afterByteOrderMark()) })
    } catch let error as BothyError { throw error } catch {
      throw BothyError(.invalidSource, "\(address) isn't JSON. \(error)", underlying: error)
    }
    guard json.objectValue != nil else {
      throw BothyError(
        .invalidSource, "\(address) isn't a style or a TileJSON document. Its JSON has no object at the top.")
    }
    return json
  }

  /// Returns the addresses of the TileJSON documents and archives that a style names, by the names of its sources.
  package static func documents(of style: JSONValue, at address: String, secrets: Set<String> = [])
    throws(BothyError) -> [String: String]
  {
    let base = try Self.base(address)
    var found: [String: String] = [:]
    for (name, source) in try sources(of: style) {
      guard isTiled(source) else { continue }
      if let archive = StyleArchive.text(of: source) {
        found[name] = try base.resolving(archive: archive, for: "source '\(name)'", hiding: secrets)
        continue
      }
      guard let url = documentText(of: source) else { continue }
      found[name] = try base.resolving(url, for: "source '\(name)'").hiding(secrets, of: base).text
    }
    return found
  }

  /// Makes the list from a style and its TileJSON documents.
  ///
  /// - Parameters:
  ///   - address: the address of the style, against which others are resolved.
  ///   - tileJSON: the documents by their addresses, as `documents(of:at:)` returns them.
  ///   - secrets: names of query items that are left out of addresses.
  /// - Throws: `BothyError` `invalidSource` for a style that can't be listed, with the reason.
  package init(
    _ style: JSONValue, at address: String, tileJSON: [String: JSONValue], secrets: Set<String> = []
  ) throws(BothyError) {
    let base = try Self.base(address)
    self.init(style: base.hiding(secrets, of: base).text)
    guard let layers = style["layers"]?.arrayValue, layers.count <= Self.mostLayers else {
      throw BothyError(
        .invalidSource, "\(address) isn't a style: it needs 'layers', at most \(Self.mostLayers) of them.")
    }
    if style["imports"]?.arrayValue?.isEmpty == false {
      throw BothyError(.invalidSource, "The style \(address) imports others. Give one that is whole.")
    }
    var fonts = StyleFonts()
    for layer in layers { try fonts.add(layer) }
    try addSprites(style["sprite"], base, secrets)
    let asked = try Self.documents(of: style, at: address, secrets: secrets)
    documents = Set(asked.values).sorted()
    archives = StyleArchive.names(asked)
    let uses = StyleUses(layers, terrain: style["terrain"]?["source"]?.stringValue)
    for (name, source) in try Self.sources(of: style).sorted(by: { $0.key < $1.key }) {
      let document = asked[name].flatMap { tileJSON[$0] }
      if let lost = asked[name], document == nil {
        throw BothyError(.invalidSource, "The style's source '\(name)' needs its TileJSON document, \(lost).")
      }
      try add(source, name, document, asked[name], uses, base, secrets)
    }
    try addFontFaces(style["font-faces"], of: fonts.stacks, base, secrets)
    files = Set(files).sorted()
    if !fonts.stacks.isEmpty, let text = style["glyphs"]?.stringValue {
      glyphs = try Self.glyphs(text, base).hiding(secrets, of: base).text
      self.fonts = fonts.stacks.sorted()
    }
    guard hosts.count <= Self.mostHosts else {
      throw BothyError(
        .invalidSource, "The style \(address) names more than \(Self.mostHosts) hosts: \(hosts.sorted()).")
    }
  }

  private static func base(_ address: String) throws(BothyError) -> StyleAddress {
    guard let base = StyleAddress(address) else {
      throw BothyError(
        .invalidSource, "\"\(address.prefix(200))\" isn't the address of a style on a web server.")
    }
    return base
  }

  private static func sources(of style: JSONValue) throws(BothyError) -> [String: JSONValue] {
    let sources = style["sources"]?.objectValue ?? [:]
    guard sources.count <= mostSources else {
      throw BothyError(.invalidSource, "The style has more than \(mostSources) sources.")
    }
    return sources
  }

  /// True for a source of tiles, which has an address for each.
  static func isTiled(_ source: JSONValue) -> Bool {
    ["vector", "raster", "raster-dem"].contains(source["type"]?.stringValue)
  }

  /// Returns the address of a source's TileJSON document as the style has it, or `nil` for a source without one.
  ///
  /// A source that has addresses of tiles too takes the rest from its document, as in renderers.
  static func documentText(of source: JSONValue) -> String? {
    guard isTiled(source), let text = source["url"]?.stringValue else { return nil }
    return StyleArchive.isArchive(text) ? nil : text
  }

  private static func glyphs(_ text: String, _ base: StyleAddress) throws(BothyError) -> StyleAddress {
    guard text.contains("{fontstack}"), text.contains("{range}") else {
      throw BothyError(
        .invalidSource,
        "The style's glyphs '\(text.prefix(200))' need {fontstack} and {range} in their address.")
    }
    return try base.resolving(text, for: "glyphs")
  }

  private mutating func addSprites(_ json: JSONValue?, _ base: StyleAddress, _ secrets: Set<String>)
    throws(BothyError)
  {
    for sprite in try Self.sprites(json, base) {
      let address = sprite.address.hiding(secrets, of: base)
      files += ["", "@2x"].flatMap { scale in [".json", ".png"].map { address.appending(scale + $0) } }
    }
  }

  /// Returns the sprites of a style: one address, or several with names.
  static func sprites(_ json: JSONValue?, _ base: StyleAddress) throws(BothyError) -> [(
    name: String, address: StyleAddress
  )] {
    if let text = json?.stringValue { return [("default", try base.resolving(text, for: "sprite"))] }
    var found: [(name: String, address: StyleAddress)] = []
    for element in json?.arrayValue ?? [] {
      guard let name = element["id"]?.stringValue, let text = element["url"]?.stringValue,
        found.count < mostSprites
      else {
        throw BothyError(
          .invalidSource, "The style's sprites need an id and a url each, at most \(mostSprites) of them.")
      }
      found.append((name, try base.resolving(text, for: "sprite '\(name)'")))
    }
    return found
  }

  private mutating func add(
    _ source: JSONValue, _ name: String, _ document: JSONValue?, _ asked: String?, _ uses: StyleUses,
    _ base: StyleAddress, _ secrets: Set<String>
  ) throws(BothyError) {
    switch source["type"]?.stringValue {
    case _ where Self.isTiled(source):
      let part = try Tiles(source, name, document, asked, uses, base, secrets)
      if let same = tiles.firstIndex(where: { $0.isSame(as: part) }) {
        tiles[same].join(part)
      } else {
        tiles.append(part)
      }
    case "geojson":
      guard let text = source["data"]?.stringValue else { return }
      files.append(try base.resolving(text, for: "source '\(name)'").hiding(secrets, of: base).text)
    case "image":
      guard let text = source["url"]?.stringValue else { return }
      files.append(try base.resolving(text, for: "source '\(name)'").hiding(secrets, of: base).text)
    default:
      throw BothyError(
        .invalidSource,
        "The style's source '\(name)' is of the type '\(source["type"]?.stringValue ?? "")', which can't be kept. There "
          + "are vector, raster, raster-dem, geojson and image.")
    }
  }
}

extension StyleAddress {
  /// Returns the address without the secrets of the style's own host. Other hosts never get these.
  func hiding(_ secrets: Set<String>, of style: StyleAddress) -> StyleAddress {
    authority == style.authority ? leavingOut(secrets) : self
  }
}
