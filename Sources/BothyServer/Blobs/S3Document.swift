import BothyStore

/// Reads the XML of S3: elements with texts, without attributes, comments and sections of data.
enum S3Document {
  /// Calls `body` at the end of each element with its name, the name of the element around it and its text. Returns
  /// the name of the outermost element, or `nil` for bytes that aren't such a document.
  static func read(
    _ bytes: [UInt8], _ body: (_ name: String, _ parent: String, _ text: String) throws -> Void
  ) rethrows -> String? {
    var open: [String] = []
    var root: String?
    var start = 0
    var position = 0
    while let tag = bytes[position...].firstIndex(of: 0x3C) {
      guard let end = bytes[tag...].firstIndex(of: 0x3E) else { return nil }
      let inside = bytes[(tag + 1)..<end]
      position = end + 1
      switch inside.first {
      case 0x3F, 0x21: break
      case 0x2F:
        guard let name = open.popLast(), name == Self.name(inside.dropFirst()) else { return nil }
        try body(name, open.last ?? "", text(bytes[start..<tag]))
        start = position
      default:
        let name = name(inside)
        if root == nil { root = name }
        if inside.last == 0x2F {
          try body(name, open.last ?? "", "")
        } else {
          open.append(name)
          guard open.count < 32 else { return nil }
        }
        start = position
      }
    }
    return open.isEmpty ? root : nil
  }

  /// Returns the text of the first element with a name, or `nil`.
  static func text(of name: String, in bytes: [UInt8]) -> String? {
    var found: String?
    _ = read(bytes) { element, _, text in if element == name, found == nil { found = text } }
    return found
  }

  private static func name(_ tag: ArraySlice<UInt8>) -> String {
    String(decoding: tag.prefix { $0 > 0x20 && $0 != 0x2F }, as: UTF8.self)
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    guard bytes.contains(0x26) else { return text }
    var result = ""
    var rest = text[...]
    while let start = rest.firstIndex(of: "&"), let end = rest[start...].firstIndex(of: ";") {
      result += rest[..<start]
      let entity = rest[rest.index(after: start)..<end]
      result += character(entity) ?? "&\(entity);"
      rest = rest[rest.index(after: end)...]
    }
    return result + rest
  }

  private static func character(_ entity: Substring) -> String? {
    switch entity {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default:
      guard entity.hasPrefix("#") else { return nil }
      let isHexadecimal = entity.hasPrefix("#x")
      let number = UInt32(entity.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10)
      return number.flatMap(Unicode.Scalar.init).map { String($0) }
    }
  }
}

/// An object of a listing.
struct S3Object: Sendable, Hashable {
  var key: String
  var size: Int64
  /// The time at which it was stored, by the storage's clock, in milliseconds since 1970.
  var modified: Int64
}

/// A page of a listing of objects.
struct S3Page: Sendable {
  var objects: [S3Object] = []
  /// The token of the next page, or `nil` after the last one.
  var next: String?

  /// Returns `nil` for bytes that aren't a listing. Such bytes must never count as an empty one.
  init?(_ bytes: [UInt8]) {
    var (object, hasMore, isWhole) = (S3Object(key: "", size: -1, modified: 0), false, true)
    let root = S3Document.read(bytes) { name, parent, text in
      switch (parent, name) {
      case ("Contents", "Key"): object.key = text
      case ("Contents", "Size"): object.size = Int64(text) ?? -1
      case ("Contents", "LastModified"): object.modified = Timestamp(rfc3339: text)?.milliseconds ?? .max
      case (_, "Contents"):
        if object.key.isEmpty || object.size < 0 { isWhole = false }
        objects.append(object)
        object = S3Object(key: "", size: -1, modified: 0)
      case ("ListBucketResult", "IsTruncated"): hasMore = text == "true"
      case ("ListBucketResult", "NextContinuationToken"): next = text
      default: break
      }
    }
    guard root == "ListBucketResult", isWhole, !hasMore || next?.isEmpty == false else { return nil }
    if !hasMore { next = nil }
  }
}

/// An upload in parts that was begun and not completed.
struct S3OpenUpload: Sendable, Hashable {
  var key = ""
  var id = ""
  /// The time at which it was begun, in milliseconds since 1970.
  var begun = Int64.max

  /// Returns the uploads of a first page of a listing, at most a thousand.
  static func list(_ bytes: [UInt8]) -> [S3OpenUpload] {
    var (found, upload): ([S3OpenUpload], S3OpenUpload) = ([], S3OpenUpload())
    _ = S3Document.read(bytes) { name, parent, text in
      switch (parent, name) {
      case ("Upload", "Key"): upload.key = text
      case ("Upload", "UploadId"): upload.id = text
      case ("Upload", "Initiated"): upload.begun = Timestamp(rfc3339: text)?.milliseconds ?? .max
      case (_, "Upload"):
        found.append(upload)
        upload = S3OpenUpload()
      default: break
      }
    }
    return found
  }
}
