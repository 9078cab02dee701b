internal import BothyCore
internal import Foundation
internal import HTTPTypes

/// The packed form of entries that came with a content coding. Network stacks undo codings, so the bytes are packed again.
extension CacheEntry {
  /// The smallest content that is packed.
  private static let smallest = 128

  /// Returns the entry with its bytes packed by gzip, if it came with a coding and gets smaller by an eighth.
  ///
  /// - Parameter known: the packed form, if it is at hand.
  func packed(as known: Data?) -> CacheEntry {
    guard metadata.cameCoded, metadata.packing == nil, body.count >= Self.smallest else { return self }
    // Without memory for packing, the bytes are stored as they are.
    guard let bytes = known ?? (try? Gzip.pack(body)), bytes.count < body.count - body.count / 8 else {
      return self
    }
    var entry = CacheEntry(metadata: metadata, body: bytes)
    entry.metadata.packing = StoredDigest(of: body)
    return entry
  }

  /// Returns the entry with its content, or `nil` if the bytes aren't the packed form of it.
  var unpacked: CacheEntry? {
    guard let packing = metadata.packing else { return self }
    guard let size = Int(exactly: packing.size), let content = try? Gzip.unpack(body, limit: size),
      StoredDigest(of: content) == packing
    else { return nil }  // The checksum of the packed bytes was right, so another program wrote them.
    var entry = CacheEntry(metadata: metadata, body: content)
    entry.metadata.packing = nil
    return entry
  }

  /// Returns the entry as it is stored, with the coding of its bytes in `Content-Encoding`.
  var coded: CacheEntry {
    guard metadata.packing != nil else { return self }
    var entry = self
    entry.metadata.packing = nil
    entry.metadata.fields[.contentEncoding] = "gzip"
    entry.metadata.fields[.contentLength] = "\(body.count)"
    return entry
  }
}

extension EntryMetadata {
  /// The metadata without what only a store has to know.
  var ofContent: EntryMetadata {
    var metadata = self
    metadata.packing = nil
    return metadata
  }
}
