/// An address with placeholders for a tile's coordinates: `https://{s}.tile.example/{z}/{x}/{y}{r}.png`.
///
/// The placeholders are `{z}` zoom, `{x}` column, `{y}` row from the north, `{-y}` row from the south, `{q}` quadkey
/// and `{s}` host. `{r}` is `@2x` for high resolution, else empty. A template is parsed once and filled in one pass.
package struct AddressTemplate: Sendable, Hashable {
  private enum Part: Sendable, Hashable { case text(String), zoom, x, y, southY, quadkey, host, resolution }

  /// The text that was parsed.
  package let text: String
  private let parts: [Part]
  /// True if `{r}` is `@2x`.
  let highResolution: Bool

  /// Parses a template.
  /// - Throws: `BothyError.invalidSource` for an unknown or unclosed placeholder.
  package init(_ text: String, highResolution: Bool = false) throws(BothyError) {
    self.text = text
    self.highResolution = highResolution
    var parts: [Part] = []
    var rest = text[...]
    while let open = rest.firstIndex(of: "{") {
      if open > rest.startIndex { parts.append(.text(String(rest[..<open]))) }
      guard let close = rest[open...].firstIndex(of: "}") else {
        throw BothyError(.invalidSource, "\"\(text)\": a { is not closed.")
      }
      let name = rest[rest.index(after: open)..<close]
      guard let part = Self.part(name) else {
        throw BothyError(
          .invalidSource, "\"\(text)\": {\(name)} is unknown. There are {z} {x} {y} {-y} {q} {s} {r}.")
      }
      parts.append(part)
      rest = rest[rest.index(after: close)...]
    }
    if !rest.isEmpty { parts.append(.text(String(rest))) }
    self.parts = parts
    let isWhole =
      parts.contains(.quadkey)
      || parts.contains(.zoom) && parts.contains(.x) && (parts.contains(.y) || parts.contains(.southY))
    if namesTile, !isWhole {
      throw BothyError(
        .invalidSource, "\"\(text)\" does not tell tiles apart: it needs {z}, {x} and {y}, or {q}.")
    }
  }

  private static func part(_ name: Substring) -> Part? {
    switch name {
    case "z": .zoom
    case "x": .x
    case "y": .y
    case "-y": .southY
    case "q": .quadkey
    case "s": .host
    case "r": .resolution
    default: nil
    }
  }

  /// True if the template has a placeholder for a coordinate.
  package var namesTile: Bool {
    parts.contains { part in
      switch part {
      case .zoom, .x, .y, .southY, .quadkey: true
      case .text, .host, .resolution: false
      }
    }
  }

  var namesHost: Bool { parts.contains(.host) }

  /// Returns the address of a tile. x and y must be within the zoom.
  package func address(zoom: Int, x: Int, y: Int, host: String = "") -> String {
    var result = ""
    result.reserveCapacity(text.utf8.count + 16)
    for part in parts {
      switch part {
      case .text(let text): result += text
      case .zoom: result += String(zoom)
      case .x: result += String(x)
      case .y: result += String(y)
      case .southY: result += String((1 << zoom) - 1 - y)
      case .quadkey:
        for level in stride(from: zoom - 1, through: 0, by: -1) {
          result += String(((x >> level) & 1) + 2 * ((y >> level) & 1))
        }
      case .host: result += host
      case .resolution: result += highResolution ? "@2x" : ""
      }
    }
    return result
  }
}
