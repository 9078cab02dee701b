internal import Foundation
internal import HTTPTypes

/// Decides if a response may replace the stored entry or become the first one.
///
/// It applies to every response: of a read, a background refresh, the load of a region, a prefetch, the proxy, the
/// tool.
///
/// 1. A pinned entry is never replaced by a response that says that nothing exists, that is empty, or that must not be
///    stored, unless the caller has decided so (`evictsGone`). Bytes that the caller has itself count as pinned.
/// 2. A tile must be content of its source, judged by its bytes. They are compared with the stored entry and with the
///    form that the source states, or else its address's extension. Without either, a stored neighbor decides.
/// 3. A picture is only replaced by one of equal format and size. Beside square pictures, the first one is square too.
/// 4. A response that ends with its connection may have been cut off. It counts only if its content has an end mark.
/// 5. Over plain HTTP, a response from another host after a redirect replaces nothing.
struct ReplacementRule: Sendable {
  /// The key of the requested resource.
  let key: ResourceKey
  /// The extension of the address, such as `png`, or empty without one.
  let ending: String
  /// The form of the source's tiles, by its description or the extension, or `nil` if nothing states it.
  let form: TileForm?
  /// A stored tile near the requested one. It is only looked up if `needsNeighbor` says so.
  var neighbor: StoredEntry?
  /// True if a style or a TileJSON document states the form.
  private let isStated: Bool
  /// True if the resources lie in one file on a server, which is checked as a whole.
  private let isInArchive: Bool
  /// The source's expected content, or `nil` without an expectation.
  let expectation: ContentExpectation?
  /// The entry that the response replaces, or `nil` if it is missing, negative or empty.
  let stored: StoredEntry?
  /// True if a holder needs what is there: the entry is pinned, or the caller has bytes of its own.
  private let isNeeded: Bool
  /// True if what is needed may be removed when the server says that the resource is gone.
  let evictsGone: Bool

  /// - Parameters:
  ///   - isPinned: true if the stored entry is pinned.
  ///   - isHeld: true if the caller has bytes of the resource itself, also if the cache has lost them.
  init(
    _ key: ResourceKey, in source: ResourceSource, stored: StoredEntry?, isPinned: Bool, evictsGone: Bool,
    isHeld: Bool
  ) {
    self.key = key
    self.evictsGone = evictsGone
    expectation = source.content
    self.stored = stored.flatMap { $0.isAbsent || $0.entry.body.isEmpty ? nil : $0 }
    isNeeded = isHeld || isPinned && self.stored != nil
    ending = Self.ending(of: source.publicURL(for: key))
    isStated = source.tileForm != nil
    form = source.tileForm ?? TileForm(name: ending)
    isInArchive = source.container != nil
  }

  /// True if the decision depends on whether the stored entry is pinned.
  static func needsPin(_ answer: FetchedResponse) -> Bool {
    let control = CacheControl(answer.fields)
    return answer.body.isEmpty || answer.endsByClosing || AnswerKind(status: answer.status) != .body
      || control.noStore || control.isPrivate
  }

  /// True if the decision about a first picture depends on what is stored beside it.
  func needsNeighbor(_ answer: FetchedResponse) -> Bool {
    guard isTile, stored == nil, expectation == nil, let picture = PictureForm(answer.body) else {
      return false
    }
    return form == nil || picture.isSquare == false
  }

  /// Returns the reason why a response may not replace the stored entry, or `nil` if it may.
  func objection(to answer: FetchedResponse, asked urls: [String]) -> ContentMismatch? {
    guard AnswerKind(status: answer.status) == .body else {
      return isNeeded && !evictsGone ? .gone : nil
    }
    if let mismatch = wrongContent(answer) { return mismatch }
    if answer.endsByClosing, isTile || isNeeded, !isWhole(answer) { return .cut }
    if stored != nil, let host = Self.strangeHost(answer.url, urls) { return .otherHost(host) }
    return nil
  }

  private var isTile: Bool { if case .tile = key.name { true } else { false } }

  // MARK: kinds

  /// True if the source accepts any content.
  private var takesAll: Bool {
    expectation.map { $0.mediaTypes.isEmpty && $0.beginnings.isEmpty && $0.allowsEmpty } ?? false
  }

  private func wrongContent(_ answer: FetchedResponse) -> ContentMismatch? {
    if answer.body.isEmpty { return wrongEmptiness(answer) }
    if takesAll { return nil }
    let kind = ContentKind(answer.fields, answer.body)
    let known = stored.map { ContentKind($0.entry.metadata.fields, $0.entry.body) }
    let fitsForm = formFits(kind, answer.body)
    guard let stored, let known else {
      let isRefused =
        fitsForm == false || kind == .page && refusesPages || isForeign(kind, answer.body)
        || isUnlikeNeighbor(kind, answer.body)
      return isRefused ? Self.named(answer) : nil
    }
    // The stored entry may not fit the source if an earlier version stored it without this check.
    let isMended = fitsForm == true && formFits(known, stored.entry.body) == false
    if isMended { return nil }
    if !Self.mayReplace(known, by: kind, isTile: isTile) || kind == .page && refusesPages && known != .page {
      return Self.named(answer)
    }
    if fitsForm == false, formFits(known, stored.entry.body) != false { return Self.named(answer) }
    guard isTile, let old = PictureForm(stored.entry.body), let new = PictureForm(answer.body) else {
      return nil
    }
    return new.isLike(old) ? nil : .otherPicture(new.text)
  }

  /// Checks an empty body. It is valid for a vector tile without layers, and for resources that are not tiles.
  private func wrongEmptiness(_ answer: FetchedResponse) -> ContentMismatch? {
    if isNeeded, !evictsGone { return .gone }
    if takesAll { return nil }
    if stored != nil, let type = ContentKind.mediaType(answer.fields), ContentKind.pageTypes.contains(type) {
      return .mediaType(type)
    }
    let wasPicture = stored.map { PictureForm($0.entry.body) != nil } ?? false
    return isTile && (wasPicture || form == .picture) ? .empty : nil
  }

  /// Returns true if the kind is of the tile's form, or `nil` if nothing states the form.
  private func formFits(_ kind: ContentKind, _ body: Data) -> Bool? {
    // The source's expected content is checked elsewhere, and is more precise than an address.
    guard isTile, expectation == nil else { return nil }
    switch form {
    case .vector: return kind == .vectorTile
    case .json: return kind == .json
    case .picture where isStated: return kind == .picture && PictureForm(body)?.isSquare != false
    case .picture: return PictureForm(body) != nil
    case nil: return kind == .page || kind == .text ? false : nil
    }
  }

  /// True if first content is of a kind that only a network sends in place of such a resource.
  private func isForeign(_ kind: ContentKind, _ body: Data) -> Bool {
    guard expectation == nil, !isInArchive else { return false }
    guard isTile else {
      return kind == .picture && Self.endings.subtracting(Self.pictureEndings).contains(ending)
    }
    guard form == nil else { return false }
    return kind == .json && !ContentKind.isMapData(body) || kind == .data && ContentKind.isMarkup(body)
  }

  /// True if a first picture isn't of the source, by the tile that is stored beside it.
  ///
  /// A wrong neighbor refuses no tile but pictures, as networks send no vector tiles.
  private func isUnlikeNeighbor(_ kind: ContentKind, _ body: Data) -> Bool {
    guard kind == .picture, let neighbor = neighbor?.entry else { return false }
    if form == nil, [.vectorTile, .json].contains(ContentKind(neighbor.metadata.fields, neighbor.body)) {
      return true
    }
    return PictureForm(neighbor.body)?.isSquare == true && PictureForm(body)?.isSquare == false
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

  /// True for tiles, which are never pages, and for other resources whose extension isn't that of a page.
  private static func namesNoPage(_ name: ResourceKey.Name) -> Bool {
    guard case .path(let path) = name else { return true }
    return endings.contains(ending(of: path))
  }

  private static func named(_ answer: FetchedResponse) -> ContentMismatch {
    ContentKind.mediaType(answer.fields).map { .mediaType($0) } ?? .bytes
  }

  // MARK: ends and ways

  /// True if the content itself shows that it is complete.
  private func isWhole(_ answer: FetchedResponse) -> Bool {
    if answer.body.isEmpty { return true }
    if let picture = PictureForm(answer.body) { return picture.isWhole(answer.body) }
    switch ContentKind(answer.fields, answer.body) {
    case .vectorTile: return true
    // Unreadable JSON was cut off.
    case .json: return (try? JSONSerialization.jsonObject(with: answer.body)) != nil
    case .picture, .page, .data, .text: return false
    }
  }

  /// Returns the host that a redirect over plain HTTP led to, if it isn't one of the requested hosts.
  ///
  /// Any device on the way can send such a redirect.
  static func strangeHost(_ url: String, _ urls: [String]) -> String? {
    let asked = urls.compactMap { Origin($0) }
    guard let came = Origin(url), asked.allSatisfy({ $0.scheme == "http" }) else { return nil }
    let name = came.authority.prefix { $0 != ":" }
    let isKnown = asked.contains { $0.authority.prefix { $0 != ":" } == name }
    return isKnown ? nil : came.authority
  }

  private static func ending(of address: String) -> String {
    let file = address.prefix { $0 != "?" && $0 != "#" }.split(separator: "/").last ?? ""
    guard let dot = file.lastIndex(of: ".") else { return "" }
    return file[file.index(after: dot)...].lowercased()
  }

  private static let pictureEndings: Set<String> = [
    "png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "heic", "ico", "bmp", "tif", "tiff",
  ]

  private static let endings: Set<String> = pictureEndings.union([
    "json", "geojson", "topojson", "pbf", "mvt", "terrain", "css", "js", "mjs", "wasm", "map", "woff",
    "woff2", "ttf", "otf", "mp3", "m4a", "ogg", "mp4", "webm", "zip", "gz", "pmtiles", "mbtiles", "sqlite",
    "csv", "gpx", "pdf",
  ])
}
