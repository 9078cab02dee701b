import BothyCore

/// The font files that a style names besides glyphs (`font-faces`), by the names of fonts.
///
/// A font is one file, or several for different characters. A renderer requests those of the fonts that texts have.
enum StyleFontFaces {
  /// The most files of a style.
  static let most = 64

  /// Returns the addresses of a font as the style has them, with `nil` for each that isn't a text.
  static func texts(of font: JSONValue?) -> [String?] {
    if let text = font?.stringValue { return [text] }
    return (font?.arrayValue ?? []).map { $0["url"]?.stringValue }
  }

  /// Returns a font whose files have other addresses. Leaves out those without one.
  static func replacing(_ font: JSONValue, with address: (Int) -> String?) -> JSONValue? {
    if font.stringValue != nil { return address(0).map { .string($0) } }
    let files = (font.arrayValue ?? []).enumerated().compactMap { number, file -> JSONValue? in
      guard var members = file.objectValue, let address = address(number) else { return nil }
      members["url"] = .string(address)
      return .object(members)
    }
    return files.isEmpty ? nil : .array(files)
  }
}

extension MapClosure {
  /// Adds the files of the fonts that these stacks name. Throws `BothyError` `invalidSource` for too many of them, or an
  /// address that isn't requested.
  mutating func addFontFaces(
    _ faces: JSONValue?, of stacks: Set<String>, _ base: StyleAddress, _ secrets: Set<String>
  ) throws(BothyError) {
    var count = 0
    for name in Set(stacks.flatMap { $0.split(separator: ",") }).sorted() {
      for text in StyleFontFaces.texts(of: faces?[String(name)]).compactMap({ $0 }) {
        count += 1
        guard count <= StyleFontFaces.most else {
          throw BothyError(
            .invalidSource, "The style's 'font-faces' have more than \(StyleFontFaces.most) files.")
        }
        files.append(try base.resolving(text, for: "font '\(name)'").hiding(secrets, of: base).text)
      }
    }
  }
}

extension MapStyle {
  /// Returns the address of a file of a font by its place in the style, or `nil`.
  func fontAddress(_ name: String, _ number: Int) -> String? {
    let texts = StyleFontFaces.texts(of: json["font-faces"]?[name])
    return texts.indices.contains(number) ? texts[number].flatMap(fileAddress) : nil
  }
}
