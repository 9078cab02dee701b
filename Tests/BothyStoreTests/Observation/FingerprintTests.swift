import BothyStore
import Testing

import struct Foundation.Data

/// The fingerprints by which observers of one record, and of joins, see that a value differs.
@Suite(.timeLimit(.minutes(5))) struct FingerprintTests {
  private struct Photo: Entity {
    static let schema = TypeSchema(
      "Photo",
      fields: [
        .field("bytes", Data.self), .field("caption", String?.self), .field("tags", [Reference<Tag>]?.self),
      ])

    var id = "p"
    var bytes = Data(repeating: 1, count: 100)
    var caption: String?
    var tags: [Reference<Tag>]?

    init() {}

    func encode(to fields: inout FieldEncoder) {
      bytes.encodeField(to: &fields)
      caption.encodeField(to: &fields)
      tags.encodeField(to: &fields)
    }

    init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
      self.id = id
      bytes = try Data(fromField: &fields)
      caption = try String?(fromField: &fields)
      tags = try [Reference<Tag>]?(fromField: &fields)
    }
  }

  private func fingerprint(_ edit: (inout Photo) -> Void = { _ in }) -> Int {
    var photo = Photo()
    edit(&photo)
    var fingerprint = RowFingerprint()
    fingerprint.combine(photo)
    return fingerprint.value
  }

  @Test("Equal records have one fingerprint")
  func equal() { #expect(fingerprint() == fingerprint()) }

  @Test("An empty text or list differs from none")
  func empty() {
    #expect(fingerprint { $0.caption = "" } != fingerprint())
    #expect(fingerprint { $0.tags = [] } != fingerprint())
  }

  @Test("Data differs by each of its bytes", arguments: [0, 79, 80, 99])
  func bytes(position: Int) {
    #expect(fingerprint { $0.bytes[position] = 2 } != fingerprint())
  }

  @Test("An observer of one record receives a text that became empty")
  func observed() async throws {
    let store = try LocalStore(inMemory: StoreSchema(Photo.self, Tag.self))
    try await store.write { try $0.insert(Photo()) }
    var photos = store.values(of: Photo.self, id: "p").makeAsyncIterator()
    #expect(try await photos.next()??.id == "p")
    try await store.write { _ = try $0.update(Photo.self, id: "p") { $0.caption = "" } }
    #expect(try await photos.next()??.caption == "")
  }
}
