package import GRDB
import GRDBSQLite

/// The tokenizer of every full-text index. Its words are those of `TextSearch`.
package enum WordTokenizer {
  /// The tokenizer's name in the definition of an index.
  static let name = "bothy_words"
  /// The type of the pointer to SQLite's interface. SQLite keeps this string's address while the statement exists.
  private static let interface: StaticString = "fts5_api_ptr"

  /// Adds the tokenizer to a connection. Call it once for each connection that reads or writes records.
  package static func install(in database: Database) throws {
    var (statement, api): (OpaquePointer?, UnsafeMutablePointer<fts5_api>?) = (nil, nil)
    defer { sqlite3_finalize(statement) }
    var code = sqlite3_prepare_v2(database.sqliteConnection, "SELECT fts5(?)", -1, &statement, nil)
    if code == SQLITE_OK {
      code = withUnsafeMutablePointer(to: &api) { api in
        interface.utf8Start.withMemoryRebound(to: CChar.self, capacity: interface.utf8CodeUnitCount) {
          _ = sqlite3_bind_pointer(statement, 1, api, $0, nil)
        }
        return sqlite3_step(statement)
      }
    }
    guard code == SQLITE_ROW, let api else {
      throw DatabaseError(
        resultCode: ResultCode(rawValue: code == SQLITE_ROW ? SQLITE_ERROR : code),
        message: "SQLite has no FTS5")
    }
    var tokenizer = fts5_tokenizer(
      xCreate: { _, _, _, made in
        // The tokenizer has no state, but SQLite requires a pointer.
        made?.pointee = OpaquePointer(bitPattern: 1)
        return SQLITE_OK
      },
      xDelete: { _ in },
      xTokenize: { _, context, purpose, text, count, token in
        WordTokenizer.tokenize(text, count, isSearch: purpose & FTS5_TOKENIZE_QUERY != 0) { bytes, range in
          token?(
            context, 0, bytes.baseAddress, CInt(bytes.count), CInt(range.lowerBound), CInt(range.upperBound))
            ?? SQLITE_ERROR
        }
      })
    code = api.pointee.xCreateTokenizer?(api, name, nil, &tokenizer, nil) ?? SQLITE_ERROR
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
  }

  /// Calls `token` with each word and its range until it returns a code other than `SQLITE_OK`. Returns the last code.
  /// A word of a script without spaces is its keys, all with its range.
  private static func tokenize(
    _ text: UnsafePointer<CChar>?, _ count: CInt, isSearch: Bool,
    _ token: (UnsafeBufferPointer<CChar>, Range<Int>) -> CInt
  ) -> CInt {
    guard let text, count > 0 else { return SQLITE_OK }
    var code = SQLITE_OK
    TextSearch.forEachWord(in: UnsafeRawBufferPointer(start: text, count: Int(count))) { word, range in
      guard WordPieces.isSpaceless(word) else {
        code = word.withMemoryRebound(to: CChar.self) { token($0, range) }
        return code == SQLITE_OK
      }
      return WordPieces.forEachKey(of: word, isSearch: isSearch) { key in
        code = key.withMemoryRebound(to: CChar.self) { token($0, range) }
        return code == SQLITE_OK
      }
    }
    return code
  }
}
