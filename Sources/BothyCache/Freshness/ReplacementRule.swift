internal import Foundation
internal import HTTPTypes

/// Decides whether an answer may take the place of what is stored, or become the first that is. It is asked for every
/// answer, whatever brought it: a read, a refresh behind one, the load of a region, a prefetch, the proxy, the tool.
///
/// 1. What is pinned is never replaced by the word that there is nothing, by no bytes, or by an answer that may not be
///    kept; unless the one who asks has decided so (`letsGo`).
/// 2. A tile is what its source brings: told by its bytes, by what is stored of it, and by its address's ending.
/// 3. A picture is replaced by one of its own format and size.
/// 4. An answer that ends when its connection closes may have been cut off: it counts when its content has an end.
/// 5. Over plain HTTP a redirect to another host brings nothing that replaces something.
struct ReplacementRule: Sendable {
  /// The name of what is asked for.
  let key: ResourceKey
  /// The end of the address, such as `png`; empty without one.
  let ending: String
  /// What the source says of its content; nil where it says nothing.
  let expectation: ContentExpectation?
  /// What the answer would replace, bytes that are something alone.
  let stored: StoredEntry?
  /// Whether somebody wants what is stored kept.
  let isPinned: Bool
  /// Whether what is pinned may go where the server says that it is gone.
  let letsGo: Bool

  init(
    _ key: ResourceKey, in source: ResourceSource, stored: StoredEntry?, isPinned: Bool, letsGo: Bool
  ) {
    self.key = key
    self.isPinned = isPinned
    self.letsGo = letsGo
    expectation = source.content
    self.stored = stored.flatMap { $0.isAbsent || $0.entry.body.isEmpty ? nil : $0 }
    ending = Self.ending(of: source.publicURL(for: key))
  }

  /// Whether it has to be known if somebody has pinned what is stored.
  static func needsPin(_ answer: FetchedAnswer) -> Bool {
    answer.body.isEmpty || answer.endsByClosing || AnswerKind(status: answer.status) != .body
      || CacheControl(answer.fields).noStore
  }

  /// Why an answer changes nothing of what is stored; nil when it may.
  func objection(to answer: FetchedAnswer, asked urls: [String]) -> ContentMismatch? {
    guard AnswerKind(status: answer.status) == .body else {
      return stored != nil && isPinned && !letsGo ? .gone : nil
    }
    if let mismatch = wrongContent(answer) { return mismatch }
    if answer.endsByClosing, isTile || stored != nil && isPinned, !isWhole(answer) { return .cut }
    if stored != nil, let host = Self.strangeHost(answer, urls) { return .otherHost(host) }
    return nil
  }

  private var isTile: Bool { if case .tile = key.name { true } else { false } }

  // MARK: kinds

  /// Whether the source takes whatever comes.
  private var takesAll: Bool {
    expectation.map { $0.mediaTypes.isEmpty && $0.beginnings.isEmpty && $0.allowsEmpty } ?? false
  }

  private func wrongContent(_ answer: FetchedAnswer) -> ContentMismatch? {
    if answer.body.isEmpty { return wrongEmptiness(answer) }
    if takesAll { return nil }
    let kind = ContentKind(answer.fields, answer.body)
    let known = stored.map { ContentKind($0.entry.metadata.fields, $0.entry.body) }
    let fitsName = nameFits(kind, answer.body)
    guard let stored, let known else {
      return fitsName == false || kind == .page && refusesPages ? Self.named(answer) : nil
    }
    // What is stored may be what the source does not bring, from before this was looked at.
    let isMended = fitsName == true && nameFits(known, stored.entry.body) == false
    if isMended { return nil }
    if !Self.mayReplace(known, by: kind, isTile: isTile) || kind == .page && refusesPages && known != .page {
      return Self.named(answer)
    }
    if fitsName == false, nameFits(known, stored.entry.body) != false { return Self.named(answer) }
    guard isTile, let old = PictureForm(stored.entry.body), let new = PictureForm(answer.body) else {
      return nil
    }
    return new.isLike(old) ? nil : .otherPicture(new.text)
  }

  /// No bytes are an answer for a vector tile without layers, and for what is no tile.
  private func wrongEmptiness(_ answer: FetchedAnswer) -> ContentMismatch? {
    if stored != nil, isPinned, !letsGo { return .gone }
    if takesAll { return nil }
    if stored != nil, let type = ContentKind.mediaType(answer.fields), ContentKind.pageTypes.contains(type) {
      return .mediaType(type)
    }
    let wasPicture = stored.map { PictureForm($0.entry.body) != nil } ?? false
    return isTile && (wasPicture || Self.pictureEndings.contains(ending)) ? .empty : nil
  }

  /// Whether a kind is the one that the tile's address names; nil where that names none.
  private func nameFits(_ kind: ContentKind, _ body: Data) -> Bool? {
    // What a source says of its content is looked at elsewhere, and says more than an address.
    guard isTile, expectation == nil else { return nil }
    switch ending {
    case "pbf", "mvt": return kind == .vectorTile
    case "json", "geojson", "topojson": return kind == .json
    case _ where Self.pictureEndings.contains(ending): return PictureForm(body) != nil
    default: return kind == .page || kind == .text ? false : nil
    }
  }

  private static func mayReplace(_ old: ContentKind, by new: ContentKind, isTile: Bool) -> Bool {
    switch old {
    case .picture, .vectorTile: new == old
    case .json, .data: isTile ? new == old : new != .page
    case .text, .page: true
    }
  }

  private var refusesPages: Bool {
    expectation == nil && Self.namesNoPage(key.name)
  }

  /// Tiles are never pages; of other resources the ending tells.
  private static func namesNoPage(_ name: ResourceKey.Name) -> Bool {
    guard case .path(let path) = name else { return true }
    return endings.contains(ending(of: path))
  }

  private static func named(_ answer: FetchedAnswer) -> ContentMismatch {
    ContentKind.mediaType(answer.fields).map { .mediaType($0) } ?? .bytes
  }

  // MARK: ends and ways

  /// Whether the content itself shows that it came to its end.
  private func isWhole(_ answer: FetchedAnswer) -> Bool {
    if answer.body.isEmpty { return true }
    if let picture = PictureForm(answer.body) { return picture.isWhole(answer.body) }
    switch ContentKind(answer.fields, answer.body) {
    case .vectorTile: return true
    // What can't be read was cut off.
    case .json: return (try? JSONSerialization.jsonObject(with: answer.body)) != nil
    case .picture, .page, .data, .text: return false
    }
  }

  /// The host that a redirect led to, where anybody on the way could have said so and it is none of those asked.
  private static func strangeHost(_ answer: FetchedAnswer, _ urls: [String]) -> String? {
    let asked = urls.compactMap { Origin($0) }
    guard let came = Origin(answer.url), asked.allSatisfy({ $0.scheme == "http" }) else { return nil }
    let name = came.authority.prefix { $0 != ":" }
    let isKnown = asked.contains { $0.authority.prefix { $0 != ":" } == name }
    return isKnown ? nil : came.authority
  }

  private static func ending(of address: String) -> String {
    let file = address.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last ?? ""
    guard let dot = file.lastIndex(of: ".") else { return "" }
    return file[file.index(after: dot)...].lowercased()
  }

  private static let pictureEndings: Set<String> = ["png", "jpg", "jpeg", "gif", "webp", "avif", "svg"]

  private static let endings: Set<String> = pictureEndings.union([
    "heic", "ico", "bmp", "tif", "tiff", "json", "geojson", "topojson", "pbf", "mvt", "terrain", "css", "js",
    "mjs", "wasm", "map", "woff", "woff2", "ttf", "otf", "mp3", "m4a", "ogg", "mp4", "webm", "zip", "gz",
    "pmtiles", "mbtiles", "sqlite", "csv", "gpx", "pdf",
  ])
}
