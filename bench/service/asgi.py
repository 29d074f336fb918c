"""The model behind uvicorn, without a framework: one event loop, one image at a time. asgi.py MODEL."""

import json
import socket
import sys

import uvicorn

from reader import PIXELS, Reader

HEADERS = [(b'content-type', b'application/json')]


async def read(receive):
    body = b''
    while True:
        message = await receive()
        body += message.get('body', b'')
        if not message.get('more_body', False):
            return body


async def app(scope, receive, send):
    if scope['type'] != 'http':
        raise NotImplementedError(scope['type'])
    try:
        # On the loop: to hand a model this small to another thread costs more than it takes.
        status, answer = 200, reader.answer(json.loads(await read(receive))['pixels'])
    except (ValueError, KeyError, TypeError) as error:
        status, answer = 400, {'message': f'{PIXELS} pixels from 0 to 1 were expected: {error}'}
    content = json.dumps(answer).encode()
    length = (b'content-length', str(len(content)).encode())
    await send({'type': 'http.response.start', 'status': status, 'headers': [*HEADERS, length]})
    await send({'type': 'http.response.body', 'body': content})


reader = Reader(sys.argv[1])
listener = socket.create_server(('127.0.0.1', 0), backlog=128)
print(f'listening on http://127.0.0.1:{listener.getsockname()[1]}', flush=True)
config = uvicorn.Config(app, log_level='warning', access_log=False, lifespan='off')
uvicorn.Server(config).run(sockets=[listener])
