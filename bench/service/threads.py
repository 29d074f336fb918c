"""The model behind Python's http.server: a thread per connection, one image at a time. threads.py MODEL."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from reader import PIXELS, Reader


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet

    def do_POST(self):
        try:
            body = json.loads(self.rfile.read(int(self.headers['content-length'])))
            status, answer = 200, reader.answer(body['pixels'])
        except (ValueError, KeyError, TypeError) as error:
            status, answer = 400, {'message': f'{PIXELS} pixels from 0 to 1 were expected: {error}'}
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header('content-type', 'application/json')
        self.send_header('content-length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


reader = Reader(sys.argv[1])
server = Server(('127.0.0.1', 0), Handler)
print(f'listening on http://127.0.0.1:{server.server_port}', flush=True)
server.serve_forever()
