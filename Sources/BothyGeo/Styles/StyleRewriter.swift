import BothyCore
import Foundation

/// The documents of a style with the addresses of an endpoint in place of their own. Pure functions.
struct StyleRewriter {
  let style: MapStyle
  /// The address of the endpoint, without a slash at the end.
  let base: String

  /// Returns the style. All that it names is below the endpoint's address.
  func rewrittenStyle() -> JSONValue {
    var members = style.json.objectValue ?? [:]
    members["glyphs"] = style.closure.glyphs == nil ? nil : .string("\(base)/glyphs/{fontstack}/{range}.pbf")
    switch members["sprite"] {
    case .string: members["sprite"] = .string("\(base)/sprites/default")
    case .array(let sprites):
      members["sprite"] = .array(
        sprites.map { sprite in
          let name = sprite["id"]?.stringValue ?? ""
          return .object(["id": .string(name), "url": .string("\(base)/sprites/\(Self.encoded(name))")])
        })
    default: members["sprite"] = nil
    }
    members["font-faces"] = members["font-faces"].flatMap(fontFaces)
    var sources = members["sources"]?.objectValue ?? [:]
    for (name, source) in sources { sources[name] = rewritten(source, name) }
    members["sources"] = .object(sources)
    return .object(members)
  }

  /// Returns the fonts that have files in the style's list, or `nil` for none.
  private func fontFaces(_ faces: JSONValue) -> JSONValue? {
    var found: [String: JSONValue] = [:]
    for (name, font) in faces.objectValue ?? [:] {
      found[name] = StyleFontFaces.replacing(font) { number in
        style.fontAddress(name, number) == nil ? nil : "\(base)/fonts/\(Self.encoded(name))/\(number)"
      }
    }
    return found.isEmpty ? nil : .object(found)
  }

  private func rewritten(_ source: JSONValue, _ name: String) -> JSONValue {
    guard var members = source.objectValue else { return source }
    switch members["type"]?.stringValue {
    case _ where MapClosure.isTiled(source):
      let hasDocument = StyleArchive.text(of: source) != nil || MapClosure.documentText(of: source) != nil
      if members["tiles"] != nil, !hasDocument {
        members["tiles"] = tiles(name)
        members["url"] = nil
        members["scheme"] = nil
      } else {
        members["tiles"] = nil
        members["scheme"] = nil
        members["url"] = .string("\(base)/sources/\(Self.encoded(name)).json")
      }
    case "geojson":
      if members["data"]?.stringValue != nil {
        members["data"] = .string("\(base)/data/\(Self.encoded(name))")
      }
    case "image": members["url"] = .string("\(base)/data/\(Self.encoded(name))")
    default: break
    }
    return .object(members)
  }

  /// Returns the TileJSON document of a source, or `nil` for a source without tiles.
  func tileJSON(_ name: String) -> JSONValue? {
    guard let part = style.closure.part(named: name),
      let source = style.json["sources"]?[name]
    else { return nil }
    var members: [String: JSONValue] = [:]
    if let address = style.documentAddress(of: source) {
      members = style.documents[address]?.objectValue ?? [:]
    }
    members["tilejson"] = .string("3.0.0")
    members["tiles"] = tiles(name)
    members["minzoom"] = .int(Int64(part.zooms.lowest))
    members["maxzoom"] = .int(Int64(part.zooms.highest))
    if !part.attribution.isEmpty { members["attribution"] = .string(part.attribution) }
    for other in ["scheme", "data", "grids", "url"] { members[other] = nil }
    return .object(members)
  }

  private func tiles(_ name: String) -> JSONValue {
    .array([.string("\(base)/tiles/\(Self.encoded(name))/{z}/{x}/{y}")])
  }

  private static let plain = CharacterSet(
    charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")

  static func encoded(_ name: String) -> String {
    name.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
  }
}

/// The meaning of a path below an endpoint.
enum MapRequest: Hashable {
  case style
  case document(source: String)
  case tile(source: String, Tile)
  /// A resource by its address.
  case file(String)
  /// A range of glyphs by its address.
  case glyphs(String)

  /// Finds out what a path means for a style, or returns `nil` if the style names nothing like it.
  ///
  /// Only what the style can ask for has a path, so an endpoint reaches no other address.
  init?(_ path: String, _ style: MapStyle) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map {
      $0.removingPercentEncoding ?? ""
    }
    let closure = style.closure
    switch (parts.first, parts.count) {
    case ("style.json", 1): self = .style
    case ("sources", 2):
      guard parts[1].hasSuffix(".json") else { return nil }
      self = .document(source: String(parts[1].dropLast(5)))
    case ("tiles", 5):
      let row = parts[4].prefix { $0 != "." }
      guard let zoom = Int(parts[2]), let x = Int(parts[3]), let y = Int(row),
        let tile = try? Tile(x: x, y: y, zoom: zoom),
        closure.part(named: parts[1])?.zooms.contains(zoom) == true
      else { return nil }
      self = .tile(source: parts[1], tile)
    case ("glyphs", 3):
      guard closure.fonts.contains(parts[1]), parts[2].hasSuffix(".pbf"),
        let range = (0..<MapClosure.glyphRanges).first(where: {
          MapClosure.glyphRange($0) + ".pbf" == parts[2]
        }),
        let address = closure.glyphs(parts[1], range)
      else { return nil }
      self = .glyphs(address)
    case ("fonts", 3):
      guard let number = Int(parts[2]), let address = style.fontAddress(parts[1], number) else { return nil }
      self = .file(address)
    case ("sprites", 2):
      guard let address = style.spriteAddress(parts[1]) else { return nil }
      self = .file(address)
    case ("data", 2):
      guard let address = style.dataAddress(parts[1]) else { return nil }
      self = .file(address)
    default: return nil
    }
  }
}
